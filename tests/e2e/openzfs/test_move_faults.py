# SPDX-License-Identifier: MPL-2.0
"""Moves when something goes wrong: the volume stays with its owner or gets to the other node, is
never on both, and is never reported as missing in between."""
import contextlib

import grpc
import pytest

from client import refused
from copies import RECEIVE, write
from daemon import wait_for
from host import get, run, Volume
from test_move import content, filled, has_device, make, owners, use
from zvols import device

PROMOTE = "set zcsi:epoch"
HIDE = "set volmode=none"
# The zfs commands of a move, each with the node that runs it, as words for a Gate.
# The push before the last one. A move does without it if the copy is younger than FRESH seconds.
CATCH_UP, FRESH = "snapshot {data}@", 10
PROGRAMS = [
    *(("owner", program) for program in (CATCH_UP, "snapshot -o zcsi:moving", "send -nP",
                                         "rename {data}", PROMOTE)),
    *(("other", program) for program in (RECEIVE, PROMOTE, "rename"))]
# The zfs commands that only the move of a zvol has, or that run while its device is hidden.
ONLY_OF_ZVOLS = [("owner", HIDE), ("owner", "rename {data}"), ("other", "inherit volmode")]


def primaries(pair):
    """Return the ids of the nodes whose pools have the volume itself, not a copy."""
    return [host.node_id for host in pair.hosts if "data" in host.leaves()]


def move(pair, *words):
    return pair.begin("move", "data", "n2", *words)


def age(pair):
    """Return for how many seconds the copy has got no data."""
    return int(pair.zcsi("copies", "data", "-Hp").split("\t")[4])


@contextlib.contextmanager
def stopped_at(pair, gate, program, kind="zfs"):
    """Within the block, a move runs whose zfs command with the words `program` waits at the gate.
    Yields the volume's content and the process of `zcsi move`."""
    wanted = filled(pair, kind)
    if program == CATCH_UP:
        wait_for(lambda: age(pair) > FRESH, "the copy is older")
    gate.hold(program.format(data=pair.owner.dataset("data")))
    command = move(pair)
    gate.arrived()
    assert len(primaries(pair)) < 2
    try:
        yield wanted, command
    finally:
        command.kill()
        command.wait()


def ends(pair, wanted, node="n2", kind="zfs"):
    """Check that a repeat of the command succeeds: the data is there, and both nodes have the same
    epoch."""
    wait_for(lambda: not pair.run("move", "data", node).returncode, "the volume has moved")
    assert owners(pair) == primaries(pair) == [node]
    host = next(host for host in pair.hosts if host.node_id == node)
    there = use(host, make(host, kind))
    assert content(there) == wanted
    write(there, "three")
    there.down()
    pair.zcsi("sync", "data")
    wait_for(pair.settled, "no push runs")
    assert get(pair.replica(host=pair.owner), "zcsi:epoch") == "1" == \
        get(pair.other.dataset("data"), "zcsi:epoch")


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("kind, side, program", [
    *(("zfs", *row) for row in PROGRAMS), *(("ext4", *row) for row in ONLY_OF_ZVOLS),
    *(pytest.param("ext4", *row, marks=pytest.mark.matrix) for row in PROGRAMS
      if row not in ONLY_OF_ZVOLS)])
def test_a_move_survives_a_kill_at_each_program(new_pair, gate, kind, side, program, runs):
    """The program, held at the gate, runs after the end of its zcsi-node if `runs`, else never."""
    with new_pair(**{f"{side}_env": gate.env}) as pair, \
            stopped_at(pair, gate, program, kind) as (wanted, _):
        host = getattr(pair, side)
        host.node_daemon.kill()
        if not runs:
            gate.kill()
        gate.open()
        host.restart(host.node_daemon)
        ends(pair, wanted, kind=kind)


@pytest.mark.parametrize("program, runs", [(HIDE, True), ("rename {data}", False)])
def test_a_restart_alone_gives_the_device_back(new_pair, gate, program, runs):
    """The owner's zcsi-node is killed when it has hidden the device. Its restart shows the device
    again, without a command."""
    with new_pair(owner_env=gate.env) as pair, \
            stopped_at(pair, gate, program, "ext4") as (wanted, _):
        pair.owner.node_daemon.kill()
        if not runs:
            assert not has_device(pair.owner)
            gate.kill()
        gate.open()
        pair.owner.restart(pair.owner.node_daemon)
        volume = use(pair.owner, make(pair.owner, "ext4"))
        assert content(volume) == wanted and primaries(pair) == ["n1"]
        volume.down()
        assert get(pair.owner.dataset("data"), "volmode") == "default"


def restarted(host):
    """Kill a host's zcsi-node and start another one."""
    host.node_daemon.kill()
    host.node_daemon.close()
    host.start_node()


def stays(pair, wanted):
    """Check that the volume is on n1 with its device, and that another move succeeds."""
    assert owners(pair) == primaries(pair) == ["n1"]
    assert get(pair.owner.dataset("data"), "volmode") == "default"
    volume = use(pair.owner, make(pair.owner, "ext4"))
    assert content(volume) == wanted
    volume.down()
    ends(pair, wanted, kind="ext4")


def test_a_move_that_is_cancelled_gives_the_device_back(new_pair, gate):
    """CancelMove takes effect even if its caller's deadline passes before the move has ended."""
    with new_pair(owner_env=gate.env) as pair, \
            stopped_at(pair, gate, HIDE, "ext4") as (wanted, command):
        with refused(grpc.StatusCode.DEADLINE_EXCEEDED):
            pair.owner.agent.CancelMove(id="data", timeout=1)
        start = pair.owner.node_daemon.mark()
        gate.open()
        assert command.wait() == 1
        assert any("inherit volmode" in argv for argv in pair.owner.node_daemon.runs(start))
        stays(pair, wanted)


def test_a_rename_that_fails_gives_the_device_back(new_pair, gate):
    with new_pair(owner_env=gate.env) as pair, \
            stopped_at(pair, gate, "rename {data}", "ext4") as (wanted, command):
        assert not has_device(pair.owner)
        with refused(grpc.StatusCode.FAILED_PRECONDITION, naming="moving to node 'n2'"):
            make(pair.owner, "ext4").stage()
        gate.kill()
        gate.open()
        assert command.wait() == 1
        stays(pair, wanted)


def test_a_device_that_is_opened_in_the_middle_stays(new_pair, gate):
    """zcsi cannot keep a person from opening the device. ZFS then keeps it, so the volume stays."""
    with new_pair(owner_env=gate.env) as pair, \
            stopped_at(pair, gate, "send -nP", "ext4") as (wanted, command):
        with open(device(pair.owner), "rb") as opened:
            gate.open()
            assert command.wait() == 1
            assert opened.read(1) == b"\0"
        stays(pair, wanted)


def test_a_volume_that_is_on_no_node_is_not_missing(new_pair, gate):
    """The owner has given the volume up, and the other node is down. Until that node is back, the
    move cannot be cancelled. Then the node takes the volume without a command, though the owner was
    killed too."""
    with new_pair(other_env=gate.env) as pair, stopped_at(pair, gate, "rename") as (wanted, _):
        pair.other.node_daemon.kill()
        gate.kill()
        gate.open()
        assert "has given volume 'data' up" in \
            pair.zcsi("move", "data", "n2", "--cancel", status=1)
        for _ in range(2):
            assert primaries(pair) == []
            with refused(grpc.StatusCode.FAILED_PRECONDITION, naming="moving to node 'n2'"):
                pair.owner.agent.GetDataset(id="data")
            with refused(grpc.StatusCode.FAILED_PRECONDITION, naming="moving to node 'n2'"):
                pair.owner.agent.CreateDataset(id="data", size=8 << 20)
            restarted(pair.owner)
        pair.other.restart(pair.other.node_daemon)
        wait_for(lambda: owners(pair) == ["n2"], "the volume is taken", seconds=60)
        ends(pair, wanted)


def test_a_volume_whose_record_of_a_move_is_damaged_is_not_missing(new_pair, gate):
    """The owner has given the volume up, and its record of that is damaged, or that of the members.
    Its next zcsi-node closes this volume alone, until the record is mended."""
    with new_pair(other_env=gate.env) as pair, stopped_at(pair, gate, "rename") as (wanted, _):
        pair.other.node_daemon.kill()
        gate.kill()
        gate.open()
        assert primaries(pair) == []
        copy = pair.replica(host=pair.owner)
        last = run("zfs", "get", "-Hd1", "-s", "local", "-o", "name", "zcsi:moving", copy).strip()
        for name, prop in ((last, "zcsi:moving"), (copy, "zcsi:members")):
            value = get(name, prop)
            run("zfs", "set", f"{prop}={value}\nx", name)
            restarted(pair.owner)
            with refused(grpc.StatusCode.NOT_FOUND):
                pair.owner.agent.GetDataset(id="other")
            with refused(grpc.StatusCode.UNAVAILABLE, naming=["restart zcsi-node", name]):
                pair.owner.agent.GetDataset(id="data")
            with refused(grpc.StatusCode.UNAVAILABLE, naming=name):
                pair.owner.agent.CreateDataset(id="data", size=8 << 20)
            run("zfs", "set", f"{prop}={value}", name)
        restarted(pair.owner)
        pair.other.restart(pair.other.node_daemon)
        wait_for(lambda: owners(pair) == ["n2"], "the volume is taken", seconds=60)
        ends(pair, wanted)


def test_a_move_to_a_node_that_is_down_leaves_the_volume(pair):
    wanted = filled(pair)
    pair.other.node_daemon.kill()
    assert "n2" in pair.zcsi("move", "data", "n2", status=1)
    volume = use(pair.owner)
    assert content(volume) == wanted
    volume.down()
    pair.other.restart(pair.other.node_daemon)
    ends(pair, wanted)


def test_a_move_is_cancelled(new_pair, gate):
    """A move can be cancelled after its last snapshot. All calls for the volume are refused until
    the move has ended."""
    with new_pair(owner_env=gate.env) as pair, \
            stopped_at(pair, gate, "snapshot -o zcsi:moving") as (wanted, command):
        with refused(grpc.StatusCode.FAILED_PRECONDITION, naming="moving to node 'n2'"):
            Volume(pair.owner, "data").stage()
        with refused(grpc.StatusCode.FAILED_PRECONDITION, naming="moving to node 'n2'"):
            pair.owner.agent.SnapshotDataset(id="data", name="late")
        assert "moving to node 'n2' already" in pair.zcsi("move", "data", "n1", status=1)
        cancelling = move(pair, "--cancel")
        gate.open()
        assert cancelling.wait() == 0 and command.wait() == 1
        assert owners(pair) == primaries(pair) == ["n1"]
        names = run("zfs", "list", "-Hd1", "-t", "snapshot", "-o", "name,zcsi:moving",
                    pair.owner.dataset("data"))
        assert "n2:1" not in names
        volume = use(pair.owner)
        assert content(volume) == wanted
        volume.down()
        ends(pair, wanted)


def test_a_volume_that_is_mounted_in_the_middle_stays(new_pair, gate, tmp_path):
    """zcsi cannot keep a person from mounting the volume. The check before the rename finds that,
    and nothing that was written is lost."""
    with new_pair(owner_env=gate.env) as pair, \
            stopped_at(pair, gate, "send -nP") as (wanted, command):
        name = pair.owner.dataset("data")
        run("mount", "-t", "zfs", name, tmp_path)
        (tmp_path / "late").write_text("late")
        gate.open()
        assert command.wait() == 1 and primaries(pair) == ["n1"]
        run("umount", tmp_path)
        ends(pair, {**wanted, "late": b"late"})
