# SPDX-License-Identifier: MPL-2.0
"""zcsi receive and adopt: a stream becomes a new volume, or leaves nothing visible."""
import os
import signal
import subprocess
from pathlib import Path

import grpc
import pytest

from client import MIB, refused
from daemon import BUILD, wait_for
from host import KERNEL_ZFS, Volume, datasets, get, run

SIZE = 64 * MIB


def command(*hosts, agents=()):
    words = [word for agent in (*(f"unix://{host.agent_socket}" for host in hosts), *agents)
             for word in ("--agent", agent)]
    return [BUILD / "zcsi", "--timeout", "120", *words]


def zcsi(hosts, *args, data=b"", status=0, agents=()):
    """Run zcsi with the bytes as stdin. Return stderr."""
    hosts = hosts if isinstance(hosts, tuple) else (hosts,)
    done = subprocess.run([*command(*hosts, agents=agents), *args], input=data,
                          capture_output=True, check=False)
    assert done.returncode == status, done
    return done.stderr.decode()


def received(host, leaf="copy"):
    return host.dataset(f"_received/{leaf}")


def is_left(host, leaf="copy"):
    return received(host, leaf) in datasets(host.parent)


def receives(host):
    """Return the command lines of the zfs receive processes of this host."""
    return [line for line in run("ps", "-eo", "args").splitlines()
            if line.startswith("zfs receive ") and f"{host.parent}/" in line]


def begun(host, stream):
    """Return the process of a zcsi receive that has all of the stream but the last byte."""
    process = subprocess.Popen([*command(host), "receive", "copy", "--size", "64M"],
                               stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdin.write(stream[:-1])
    process.stdin.flush()
    wait_for(lambda: receives(host), "zfs receive runs")
    return process


@pytest.fixture
def stream(host, volume):
    """The bytes of a stream with all data of the snapshot `one` of the volume `data`."""
    volume.size = SIZE
    volume.up()
    Path(volume.target, "data").write_bytes(os.urandom(4 * MIB))
    host.agent.SnapshotDataset(id="data", name="one")
    yield subprocess.run([*command(host), "send", "data@one"], stdout=subprocess.PIPE,
                         check=True).stdout
    volume.down()


def test_a_stream_becomes_a_volume(host, stream, volume):
    assert zcsi(host, "receive", "copy", "--size", "64M", data=stream) == ""
    assert host.ids() == ["copy", "data"] and not is_left(host)
    assert get(host.dataset("copy@one"), "guid") == get(host.dataset("data@one"), "guid")
    copy = Volume(host, "copy", size=SIZE)
    copy.create()
    for step in (copy.attach, copy.stage, copy.publish):
        step()
    assert Path(copy.target, "data").read_bytes() == Path(volume.target, "data").read_bytes()
    Path(copy.target, "more").write_text("written")
    copy.down()
    def listed():
        return [row.id for row in host.agent.ListDatasetSnapshots(dataset_id="copy").snapshots]
    wait_for(lambda: listed() == ["copy@one"], "its snapshot is listed")
    record = host.agent.GetDataset(id="copy").dataset
    assert record.size == SIZE and not record.maybe_blank


def test_a_stream_that_ends_early_leaves_nothing(host, stream):
    for cut in (0, 100, 312, len(stream) // 2, len(stream) - 1):
        zcsi(host, "receive", "copy", "--size", "64M", data=stream[:cut], status=1)
        assert not is_left(host) and host.ids() == ["data"], cut
    zcsi(host, "receive", "copy", "--size", "64M", data=stream)


def test_a_command_that_is_killed_leaves_nothing(host, stream):
    process = begun(host, stream)
    assert "being received already" in zcsi(host, "receive", "copy", "--size", "64M", data=stream,
                                            status=1)
    mark = host.node_daemon.mark()
    process.kill()
    process.communicate()
    wait_for(lambda: not receives(host), "zfs receive has ended")
    if not KERNEL_ZFS:  # zcsi-node destroys what was received, and is receiving until then
        destroy = f"zfs destroy {received(host)}"
        wait_for(lambda: destroy in host.node_daemon.runs(mark) and not is_left(host), destroy)
    zcsi(host, "receive", "copy", "--size", "64M", data=stream)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_an_agent_that_ends_leaves_nothing(host, stream, number):
    process = begun(host, stream)
    host.node_daemon.signal(number)
    assert host.node_daemon.wait() == (0 if number == signal.SIGTERM else -number)
    process.communicate()
    assert process.returncode == 1
    wait_for(lambda: not receives(host), "zfs receive has ended")
    host.restart(host.node_daemon)
    assert not is_left(host)
    zcsi(host, "receive", "copy", "--size", "64M", data=stream)


def test_a_volume_that_exists_is_never_touched(host, stream, new_host):
    other = new_host(node_id="n2").start()
    before = get(host.dataset("data"), "guid")
    for place in ("n1", "n2"):
        said = zcsi((host, other), "receive", "data", "--size", "64M", "--node", place,
                    data=stream, status=1)
        assert "exists on node 'n1'" in said
    assert get(host.dataset("data"), "guid") == before and other.leaves() == []
    said = zcsi((host, other), "receive", "copy", "--size", "64M", data=stream, status=1)
    assert "choose one with --node" in said
    zcsi((host, other), "receive", "copy", "--size", "64M", "--node", "n2", data=stream)
    assert other.ids() == ["copy"] and host.ids() == ["data"]


def test_all_hosts_must_answer(host, stream, tmp_path, new_host):
    down = f"unix://{tmp_path}/none.sock"
    said = zcsi(host, "receive", "copy", "--size", "64M", "--node", "n1", data=stream, status=1,
                agents=[down])
    assert f"'{down}' did not report whether it has a volume 'copy'" in said
    host.agent.KeepHosts(hosts=[{"node_id": "n9", "dataset": "tank/zcsi", "stamp": 1}])
    said = zcsi(host, "receive", "copy", "--size", "64M", data=stream, status=1)
    assert "node 'n9' is none of the agents that were asked" in said
    assert host.ids() == ["data"] and not is_left(host)
    host.agent.KeepHosts(hosts=[{"node_id": "n9", "dataset": "tank/zcsi", "stamp": 2,
                                 "forgotten": True}])
    zcsi(host, "receive", "copy", "--size", "64M", data=stream)


def test_a_name_of_kept_snapshots_is_refused(host, stream):
    host.agent.CreateDataset(id="copy", size=8 * MIB)
    host.agent.SnapshotDataset(id="copy", name="kept")
    host.agent.DestroyDataset(id="copy")
    said = zcsi(host, "receive", "copy", "--size", "64M", data=stream, status=1)
    assert "still has the snapshot 'copy@kept'" in said


def test_a_received_stream_can_be_adopted_later(host, stream):
    said = zcsi(host, "receive", "copy", "--size", "1M", data=stream, status=1)
    assert "the stream is received, and is no volume yet" in said and is_left(host)
    assert host.ids() == ["data"]
    said = zcsi(host, "receive", "copy", "--size", "64M", data=stream, status=1)
    assert "make it the volume with 'zcsi adopt copy'" in said
    zcsi(host, "adopt", "copy", "--size", "64M")
    assert host.ids() == ["copy", "data"] and not is_left(host)
    assert "there is no" in zcsi(host, "adopt", "none", "--size", "64M", status=1)


def test_datasets_that_cannot_be_volumes_are_not_adopted(host, stream):
    run("zfs", "create", "-p", received(host, "made"))
    assert "has no snapshot" in zcsi(host, "adopt", "made", "--size", "8M", status=1)
    run("zfs", "snapshot", f"{received(host, 'made')}@one")
    run("zfs", "create", received(host, "made/below"))
    assert "datasets are below" in zcsi(host, "adopt", "made", "--size", "8M", status=1)
    run("zfs", "destroy", received(host, "made/below"))
    run("zfs", "set", "readonly=on", received(host, "made"))
    assert "has readonly=on" in zcsi(host, "adopt", "made", "--size", "8M", status=1)
    run("zfs", "inherit", "readonly", received(host, "made"))
    run("zfs", "set", "zcsi:members=x", received(host, "made"))
    assert "has zcsi:members=x" in zcsi(host, "adopt", "made", "--size", "8M", status=1)
    run("zfs", "inherit", "zcsi:members", received(host, "made"))
    assert "has no size" in zcsi(host, "adopt", "made", status=1)
    assert "is a filesystem" in zcsi(host, "adopt", "made", "--format", "ext4", status=1)
    assert host.ids() == ["data"]
    zcsi(host, "adopt", "made", "--size", "8M")
    assert host.ids() == ["data", "made"]


def test_streams_that_are_no_volume_are_refused(host, stream, tmp_path):
    host.agent.SnapshotDataset(id="data", name="two")
    more = subprocess.run([*command(host), "send", "-i", "data@one", "data@two"],
                          stdout=subprocess.PIPE, check=True).stdout
    package = subprocess.run(["zfs", "send", "-R", host.dataset("data@one")],
                             stdout=subprocess.PIPE, check=True).stdout
    for data, text in ((more, "incremental"), (package, "package"), (b"x" * 4096, "not a stream"),
                       (b"", "ended before")):
        assert text in zcsi(host, "receive", "copy", "--size", "64M", data=data, status=1)
    assert "give one with --size" in zcsi(host, "receive", "copy", data=stream, status=1)
    assert "is of a filesystem" in zcsi(host, "receive", "copy", "--format", "block", data=stream,
                                        status=1)
    assert not is_left(host) and host.ids() == ["data"]


def test_two_adoptions_make_one_volume(host, new_host):
    other = new_host(node_id="n2").start()
    for each in (host, other):
        run("zfs", "create", "-p", received(each))
        run("zfs", "snapshot", f"{received(each)}@one")
    both = [subprocess.Popen([*command(host, other), "adopt", "copy", "--size", "8M", "--node",
                              each.node_id], stderr=subprocess.PIPE) for each in (host, other)]
    said = [process.communicate()[1].decode() for process in both]
    assert sorted(process.returncode for process in both) == [0, 1], said
    assert sorted([host.leaves(), other.leaves()]) == [
        ["_received", "_received/copy"], ["_received", "copy"]]


def test_a_stream_without_a_valid_id_is_refused(host):
    with refused(grpc.StatusCode.INVALID_ARGUMENT, naming="names no volume"):
        host.agent.ReceiveVolume.stream([])
    with refused(grpc.StatusCode.INVALID_ARGUMENT, naming="id"):
        host.agent.ReceiveVolume.stream([{"data": b"x"}])
    with refused(grpc.StatusCode.INVALID_ARGUMENT, naming="longer than"):
        host.agent.ReceiveVolume.stream([{"id": "x" * 129}])


def test_an_adoption_needs_a_claim(host, stream):
    """AdoptDataset needs a claim of the name that the agent has promised."""
    zcsi(host, "receive", "copy", "--size", "1M", data=stream, status=1)
    request = {"id": "copy", "size": SIZE, "format": "zfs"}
    with refused(grpc.StatusCode.INVALID_ARGUMENT, naming="without a claim"):
        host.agent.AdoptDataset(**request)
    with refused(grpc.StatusCode.ABORTED):
        host.agent.AdoptDataset(claim=5, **request)
    Volume(host, "copy").create()
    with refused(grpc.StatusCode.ALREADY_EXISTS):
        host.agent.AdoptDataset(claim=5, **request)
    assert is_left(host)
