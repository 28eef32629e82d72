# SPDX-License-Identifier: MPL-2.0
"""Copies when something goes wrong: the volume is untouched, the copy has its old state or the new
one, and the next push completes it or fails with what a person has to do."""
import contextlib
import json
import re
import signal
import subprocess
from pathlib import Path

import grpc
import pytest

from client import MIB, refused
from copies import in_use, own, RECEIVE, write
from daemon import BUILD, wait_for
from host import get, run
from processes import children

SIZE = 8 * MIB  # more than the pipes, sockets and HTTP/2 windows of a stream buffer


@pytest.fixture
def volume(pair):
    with in_use(pair) as made:
        yield made


def synced(pair):
    pair.sync()
    wait_for(pair.in_step, "the copy is in step")


def test_a_push_to_a_pool_without_room_is_refused(pair, volume):
    pair.add()
    run("zfs", "set", f"quota={MIB}", pair.other.parent)
    write(volume, "much", SIZE)
    assert "has room for" in pair.zcsi("sync", "data", status=1)
    assert get(pair.replica(), "receive_resume_token") == "-"
    run("zfs", "set", "quota=none", pair.other.parent)
    synced(pair)


def test_failed_pushes_leave_no_snapshots(pair, volume):
    """Each attempt to push takes a snapshot. Only the base and the newest snapshot stay, and maybe
    that of an attempt which zcsi-node has made by itself."""
    pair.add()
    base = own(pair.owner.dataset("data"))
    run("zfs", "set", f"quota={MIB}", pair.other.parent)
    write(volume, "much", SIZE)
    for _ in range(4):
        assert "has room for" in pair.zcsi("sync", "data", status=1)
    kept = own(pair.owner.dataset("data"))
    assert set(base) < set(kept) and len(kept) <= len(base) + 2
    run("zfs", "set", "quota=none", pair.other.parent)
    synced(pair)
    assert is_tidy(pair)


def test_snapshots_of_other_tools_do_not_block_a_push(pair, volume):
    pair.add()
    run("zfs", "snapshot", f"{pair.owner.dataset('data')}@by-hand")
    run("zfs", "snapshot", f"{pair.replica()}@by-hand")
    write(volume, "more")
    synced(pair)
    assert get(f"{pair.replica()}@by-hand", "type") == "snapshot"


def test_snapshots_of_other_tools_are_pushed_on_request(pair, volume):
    """A snapshot with a name that a snapshot of the copy already has is left out, and is no
    obstacle."""
    def snapshot(dataset, *names):
        for name in names:
            run("zfs", "snapshot", f"{dataset}@{name}")

    name, replica = pair.owner.dataset("data"), pair.replica()
    change = {"volume_id": "data", "mutable_parameters": {"snapshots": "all"}}
    snapshot(name, "before")
    pair.add()
    pair.owner.controller.ControllerModifyVolume(**change)
    write(volume, "one")
    snapshot(name, "hourly", "daily")
    snapshot(replica, "daily", "own")
    write(volume, "two")
    pair.owner.agent.SnapshotDataset(id="data", name="asked")
    snapshot(name, "weekly")
    synced(pair)
    there = run("zfs", "list", "-Hd1", "-t", "snapshot", "-o", "name", replica)
    assert "@before" not in there and "@own" in there
    for leaf in ("hourly", "asked", "weekly"):
        assert get(f"{replica}@{leaf}", "guid") == get(f"{name}@{leaf}", "guid")
    assert get(f"{replica}@daily", "guid") != get(f"{name}@daily", "guid")
    assert get(f"{replica}@asked", "zcsi:snapshot") == "asked"
    run("zfs", "destroy", f"{name}@weekly")
    write(volume, "three")
    change["mutable_parameters"]["snapshots"] = "ours"
    pair.owner.controller.ControllerModifyVolume(**change)
    snapshot(name, "later")
    synced(pair)
    assert "@later" not in run("zfs", "list", "-Hd1", "-t", "snapshot", "-o", "name", replica)
    assert is_tidy(pair)


def test_a_push_to_a_modified_copy_is_refused(pair, volume, tmp_path):
    pair.add()
    run("mount", "-t", "zfs", pair.replica(), tmp_path)
    Path(tmp_path, "by-hand").write_text("lost")
    run("umount", tmp_path)
    write(volume, "more")
    said = pair.zcsi("sync", "data", status=1)
    assert "has been modified" in said and "roll it back" in said
    [newest, *_] = run("zfs", "list", "-Hd1", "-t", "snapshot", "-o", "name", "-S", "createtxg",
                       pair.replica()).split()
    run("zfs", "rollback", newest)
    synced(pair)


def test_a_push_of_a_rolled_back_volume_is_refused(pair, volume):
    """After the rollback only the copy has some data, so the push fails and a person decides."""
    pair.owner.agent.SnapshotDataset(id="data", name="before")
    pair.add()
    write(volume, "more")
    synced(pair)
    volume.down()
    wait_for(pair.settled, "no push runs")
    run("zfs", "rollback", "-r", f"{pair.owner.dataset('data')}@before")
    before = run("zfs", "list", "-Hd1", "-t", "snapshot", "-o", "name", pair.replica())
    said = pair.zcsi("sync", "data", status=1)
    assert "was rolled back" in said and "zcsi copy drop data n2" in said
    assert run("zfs", "list", "-Hd1", "-t", "snapshot", "-o", "name", pair.replica()) == before
    pair.zcsi("copy", "drop", "data", "n2", "--destroy", "1")
    pair.add()
    wait_for(pair.in_step, "the copy is in step")
    for step in (volume.attach, volume.stage, volume.publish):
        step()


def test_a_stopped_node_does_not_block_the_owner(pair, volume):
    pair.add()
    pair.other.node_daemon.signal(signal.SIGSTOP)
    write(volume, "more")
    assert "n2" in pair.zcsi("sync", "data", status=1)
    pair.owner.agent.SnapshotDataset(id="data", name="meanwhile")
    pair.other.node_daemon.signal(signal.SIGCONT)
    synced(pair)


@contextlib.contextmanager
def stopped_at(pair, gate, program):
    """Within the block, a push runs whose zfs command with the words `program` waits at the
    gate."""
    with in_use(pair) as volume:
        pair.add()
        write(volume, "much", SIZE)
        pair.owner.agent.SnapshotDataset(id="data", name="asked")
        gate.hold(program.format(data=pair.owner.dataset("data")))
        command = subprocess.Popen([BUILD / "zcsi", "--agent", f"unix://{pair.owner.agent_socket}",
                                    "sync", "data"], stderr=subprocess.DEVNULL)
        gate.arrived()
        yield
        command.kill()
        command.wait()


@pytest.fixture
def in_stream(new_pair, gate):
    """A pair with a running push, whose zfs receive waits at the gate and reads nothing."""
    with new_pair(other_env=gate.env) as pair, stopped_at(pair, gate, RECEIVE):
        yield pair


def test_the_progress_of_a_push_is_shown(in_stream, gate):
    def progress():
        return in_stream.zcsi("copies", "-Hp").rstrip("\n").split("\t")[6:]

    wait_for(lambda: progress()[1] not in ("-", "0"), "data is sent")
    state, sent, total = progress()
    assert state == "sending" and int(sent) < SIZE < int(total) < 2 * SIZE
    [copy] = json.loads(in_stream.zcsi("copies", "-o", "json"))["copies"]
    assert copy["total"] == int(total)
    assert re.search(r"sending: .* of 8\.\d+M, .*/s, about \d+ ", in_stream.zcsi("copies"))
    gate.open()
    synced(in_stream)
    assert progress() == ["ok", "-", "-"]


@pytest.mark.parametrize("which", ["owner", "other"])
def test_a_stream_is_resumed_after_a_kill(in_stream, gate, which):
    host = getattr(in_stream, which)
    host.node_daemon.kill()
    gate.open()
    host.restart(host.node_daemon)
    synced(in_stream)
    assert is_tidy(in_stream)
    assert get(f"{in_stream.replica()}@asked", "zcsi:snapshot") == "asked"


def test_a_stream_is_resumed_after_a_stop(in_stream, gate):
    daemon = in_stream.owner.node_daemon
    daemon.signal(signal.SIGTERM)
    assert daemon.wait() == 0
    gate.open()
    in_stream.owner.restart(daemon)
    synced(in_stream)


def test_nothing_is_destroyed_while_a_stream_is_received(in_stream, gate):
    agent = in_stream.other.agent
    copy = agent.GetCopy(id="data").copy
    with refused(grpc.StatusCode.ABORTED, naming="a stream is received"):
        agent.ThinCopy(id="data", lineage=copy.lineage, snapshots=copy.snapshots[1:])
    gate.open()
    synced(in_stream)


def sends(host):
    """Return whether zcsi-node of the host runs a zfs send."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return any(b"\0send\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
                   for pid in children(host.node_daemon.process.pid))
    return True


def test_a_pause_ends_a_running_stream(in_stream, gate):
    """A pause ends the stream, and the volume is pushed again after `zcsi resume`."""
    assert sends(in_stream.owner)
    in_stream.zcsi("pause", "data")
    wait_for(lambda: not sends(in_stream.owner), "zfs send has ended")
    gate.open()
    assert in_stream.run("copies", "-Hp").stdout.rstrip("\n").split("\t")[6] == "paused"
    in_stream.zcsi("resume", "data")
    synced(in_stream)
    assert is_tidy(in_stream)


def test_an_interrupted_stream_without_its_snapshot_is_dropped(in_stream, gate):
    """If the snapshot of an interrupted stream is gone, its received part is dropped, and a new
    stream is sent from the base."""
    in_stream.owner.node_daemon.kill()
    gate.open()
    name = in_stream.owner.dataset("data")
    base = get(f"{name}#_repl-n2", "guid")
    for snapshot in run("zfs", "list", "-Hd1", "-t", "snapshot", "-o", "name", name).split():
        if get(snapshot, "guid") != base:
            run("zfs", "destroy", snapshot)
    in_stream.owner.restart(in_stream.owner.node_daemon)
    synced(in_stream)
    assert get(in_stream.replica(), "receive_resume_token") == "-"


def is_tidy(pair):
    """True if one snapshot and one bookmark of zcsi are left, and no part of a stream."""
    return len(own(pair.owner.dataset("data"))) == 2 and \
        get(pair.replica(), "receive_resume_token") == "-"


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("program", ["snapshot {data}@", "send -nP", "send -Lc", "destroy {data}#",
                                     "bookmark {data}@asked", "bookmark {data}@_repl-",
                                     "destroy {data}@"])
def test_a_push_survives_a_kill_of_its_owner_at_each_program(new_pair, gate, program, runs):
    """The program, held at the gate, runs after the end of its zcsi-node if `runs`, else never."""
    with new_pair(owner_env=gate.env) as pair, stopped_at(pair, gate, program):
        pair.owner.node_daemon.kill()
        if not runs:
            gate.kill()
        gate.open()
        pair.owner.restart(pair.owner.node_daemon)
        synced(pair)
        assert is_tidy(pair)


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("program", [RECEIVE, "receive_resume_token"])
def test_a_push_survives_a_kill_of_its_target_at_each_program(new_pair, gate, program, runs):
    with new_pair(other_env=gate.env) as pair, stopped_at(pair, gate, program):
        pair.other.node_daemon.kill()
        if not runs:
            gate.kill()
        gate.open()
        pair.other.restart(pair.other.node_daemon)
        synced(pair)
        assert is_tidy(pair)


def snapshots(name):
    return run("zfs", "list", "-Hd1", "-t", "snapshot", "-o", "name", name)


@pytest.mark.parametrize("runs", [False, True])
def test_a_snapshot_whose_record_was_not_set_gets_it_later(new_pair, gate, runs):
    """zcsi-node is killed before the zfs set that records the snapshot on the copy. The zfs set
    outlives it and runs later, or is killed too."""
    with new_pair(other_env=gate.env) as pair:
        program = "set zcsi:version=1 zcsi:snapshot=asked"
        with stopped_at(pair, gate, program):
            pair.other.node_daemon.kill()
            if not runs:
                gate.kill()
            gate.open()
            pair.other.restart(pair.other.node_daemon)
            synced(pair)
            assert get(f"{pair.replica()}@asked", "zcsi:snapshot") == "asked" and is_tidy(pair)


def test_a_snapshot_that_arrived_without_an_answer_may_be_deleted(new_pair, gate):
    """The next stream begins at the spare bookmark."""
    with new_pair(other_env=gate.env) as pair, \
            stopped_at(pair, gate, "set zcsi:version=1 zcsi:snapshot=asked"):
        pair.owner.node_daemon.kill()
        gate.open()
        pair.owner.restart(pair.owner.node_daemon)
        pair.owner.agent.DestroyDatasetSnapshot(id="data@asked")
        synced(pair)
        assert "@asked" not in snapshots(pair.owner.dataset("data"))
        assert is_tidy(pair)
