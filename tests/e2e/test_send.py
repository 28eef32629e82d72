# SPDX-License-Identifier: MPL-2.0
"""zcsi send: zfs receive makes the same dataset from its stream. Also every way in which a stream
can end too early."""
import contextlib
import os
import pty
import re
import signal
import subprocess

import grpc
import pytest

from client import MIB, refused
from daemon import BUILD, wait_for
from host import get, run

SIZE = 16 * MIB


def argv(host, *args):
    return [BUILD / "zcsi", "--agent", f"unix://{host.agent_socket}", "send", *args]


def failed(host, *args):
    done = subprocess.run(argv(host, *args), capture_output=True, text=True, check=False)
    assert done.returncode == 1, done
    return done.stderr


def sends(host):
    """Return the command line of each zfs send that runs for this host."""
    text = run("ps", "-eo", "args")
    return [line for line in text.splitlines()
            if line.startswith("zfs send ") and f"{host.parent}/" in line]


@pytest.fixture
def full(host, volume):
    """A volume with more data than the pipes, sockets and HTTP/2 windows of a stream buffer, and
    with a snapshot `one`."""
    volume.size = 64 * MIB
    volume.up()
    with open(f"{volume.target}/data", "wb") as file:
        file.write(os.urandom(SIZE))
    host.agent.SnapshotDataset(id="data", name="one")
    yield volume
    volume.down()


def name_of(host, name):
    return f"{host.parent}/{name}"


def receive(host, stream, name):
    with open(stream, "rb") as file:
        run("zfs", "receive", "-u", name_of(host, name), stdin=file)


def test_a_received_stream_is_the_same_snapshot(host, full, tmp_path):
    whole, more = tmp_path / "whole", tmp_path / "more"
    with open(whole, "wb") as file:
        subprocess.run(argv(host, "data@one"), stdout=file, check=True)
    receive(host, whole, "_copy")
    with open(f"{full.target}/later", "wb") as file:
        file.write(os.urandom(MIB))
    host.agent.SnapshotDataset(id="data", name="two")
    with open(more, "wb") as file:
        subprocess.run(argv(host, "-i", "data@one", "data@two"), stdout=file, check=True)
    assert whole.stat().st_size > SIZE > more.stat().st_size > MIB
    receive(host, more, "_copy")
    for snapshot in host.agent.ListDatasetSnapshots(dataset_id="data").snapshots:
        _, leaf = snapshot.zfs_name.split("@")
        assert get(f"{host.parent}/_copy@{leaf}", "guid") == get(snapshot.zfs_name, "guid")


def test_wrong_snapshots_are_refused(host, full):
    host.agent.CreateDataset(id="other", size=8 * MIB)
    host.agent.SnapshotDataset(id="other", name="three")
    assert "snapshot 'data@none' does not exist" in failed(host, "data@none")
    assert "not an earlier snapshot" in failed(host, "-i", "other@three", "data@one")
    assert "not an earlier snapshot" in failed(host, "-i", "data@one", "data@one")
    assert "snapshot 'data@zero' does not exist" in failed(host, "-i", "data@zero", "data@one")


def seen_on_terminal(host, *args):
    """Return the text that zcsi send writes to a terminal on stderr; its stdout is /dev/null."""
    ours, theirs = pty.openpty()
    with open(ours, "rb", buffering=0) as terminal:
        subprocess.run(argv(host, *args), stdout=subprocess.DEVNULL, stderr=theirs, check=True)
        os.close(theirs)
        text = b""
        with contextlib.suppress(OSError):  # EIO: the other end is closed and all is read
            while part := terminal.read(4096):
                text += part
        return text.decode()


def test_progress_is_for_terminals(host, full):
    last = seen_on_terminal(host, "data@one").split("\r")[-2]
    assert re.match(r"1[67]\.\dM, .*/s", last)
    quiet = subprocess.run(argv(host, "data@one"), stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, check=True)
    assert quiet.stderr == b""


def begun(host, full):
    """A zcsi send whose output is not read, once its zfs runs."""
    process = subprocess.Popen(argv(host, "data@one"), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    assert process.stdout.read(1)
    wait_for(lambda: sends(host), "zfs send runs")
    return process


def test_a_command_that_ends_early_ends_zfs_send(host, full):
    process = begun(host, full)
    process.kill()
    process.communicate()
    wait_for(lambda: not sends(host), "zfs send has ended")


def test_a_stream_that_cannot_be_written_is_not_received(host, full):
    process = begun(host, full)
    process.stdout.close()
    assert process.wait() == 1
    assert "cannot write to stdout" in process.stderr.read().decode()
    process.stderr.close()

    def codes():
        return [row["code"] for row in host.node_daemon.log()
                if row.get("method") == "zcsi.v1.Copy/Send"]
    assert wait_for(codes, "the call has ended, and is in the log") == ["CANCELLED"]
    wait_for(lambda: not sends(host), "zfs send has ended")


def test_a_killed_agent_is_an_error(host, full):
    process = begun(host, full)
    host.node_daemon.kill()
    _, said = process.communicate()
    assert process.returncode == 1 and host.agent_socket in said.decode()
    wait_for(lambda: not sends(host), "zfs send has ended")
    host.restart(host.node_daemon)


def test_sigterm_ends_a_stream_that_is_not_read(host, full):
    process = begun(host, full)
    host.node_daemon.signal(signal.SIGTERM)
    assert host.node_daemon.wait() == 0
    process.communicate()
    assert process.returncode == 1
    host.restart(host.node_daemon)


def test_at_most_four_streams_run_at_a_time(host, full):
    running = [begun(host, full) for _ in range(4)]
    assert "try again when one has ended" in failed(host, "data@one")
    for process in running:
        process.kill()
        process.communicate()
    def sent():
        return subprocess.run(argv(host, "data@one"), stdout=subprocess.DEVNULL,
                              check=False).returncode == 0
    wait_for(sent, "there is room for a stream again")


def test_zfs_fuse_has_no_backups(host, volume):
    volume.create()
    with refused(grpc.StatusCode.FAILED_PRECONDITION, naming="zfs-fuse"):
        host.agent.BeginBackup(id="data", node_id="n2")
    with refused(grpc.StatusCode.FAILED_PRECONDITION, naming="zfs-fuse"):
        list(host.agent.ReadBackup(id="data", node_id="n2", guid=1))
    task = host.agent.RunBackup(id="data", from_node_id="n2", add=True).task
    wait_for(lambda: host.agent.GetBackupTask(task=task).ended, "the run has ended")
    assert "zfs-fuse" in host.agent.GetBackupTask(task=task).error
    assert not host.agent.ListBackups().backups
    host.agent.DropBackup(id="data")
    with refused(grpc.StatusCode.NOT_FOUND):
        host.agent.GetBackupTask(task=task + 1)


def test_an_unknown_snapshot_is_not_found_by_the_agent_either(host):
    with refused(grpc.StatusCode.NOT_FOUND, naming="none"):
        list(host.agent.Send(snapshot_id="none"))
