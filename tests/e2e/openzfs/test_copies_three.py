# SPDX-License-Identifier: MPL-2.0
"""Copies among three hosts. Each has its own pool, network and certificate, and they reach each
other by mutual TLS alone."""
import contextlib
from pathlib import Path

import grpc
import pytest

from client import MIB, Client, refused
from copies import create, in_use, own, write
from daemon import wait_for
from host import get, run, Volume
from processes import children
from test_hosts import WAYS, endpoint, impair

STRANGER = "n4"


@pytest.fixture
def volume(trio):
    """A volume of n1 that a workload uses, with complete copies on n2 and n3."""
    with in_use(trio) as made:
        write(made, "one")
        for node in ("n2", "n3"):
            trio.zcsi("copy", "add", "data", node)
        wait_for(trio.settled, "both copies are complete")
        yield made


def sent_to(host):
    """Return the number of bytes that the network has delivered to the host."""
    return int(Path(f"/sys/class/net/{host.namespaces.port}/statistics/tx_bytes").read_text())


def have_all(trio, *hosts, leaf="data", owner=None):
    """True if the copies on these hosts have all that was written. Bookmarks are compared, not the
    volume's newest snapshot, which may be of a later push to another host. A bookmark is missing
    for a moment when it is replaced."""
    volume = (owner or trio.owner).dataset(leaf)
    marks = dict(line.split() for line in run("zfs", "list", "-Hpd1", "-t", "bookmark", "-o",
                                              "name,guid", volume).splitlines())
    return all(
        marks.get(f"{volume}#_repl-{host.node_id}") == trio.newest(trio.replica(leaf, host)) and
        get(volume, f"written#_repl-{host.node_id}") == "0" ==
        get(trio.replica(leaf, host), "written") for host in hosts)


def test_each_host_keeps_copies_for_the_others(trio):
    for host in trio.hosts:
        create(Volume(trio.owner, f"of-{host.node_id}"), {"replicas": "3", "sync_every": "10s"},
               host.node_id)
    wait_for(lambda: trio.settled(6), "six copies are complete", 60)
    for host in trio.hosts:
        others = [other for other in trio.hosts if other is not host]
        leaf = f"of-{host.node_id}"
        assert have_all(trio, *others, leaf=leaf, owner=host)
        assert [each.id for each in host.agent.ListDatasets().datasets] == [leaf]


def test_all_copies_get_the_same_snapshot(trio, volume):
    daemon = trio.owner.node_daemon
    start = daemon.mark()
    write(volume, "two")
    trio.sync()
    assert have_all(trio, *trio.hosts[1:])
    assert [argv.split()[1] for argv in daemon.runs(start)].count("snapshot") == 1
    assert len(own(trio.owner.dataset("data"))) == 3  # a snapshot, and a bookmark for each copy


def test_a_host_that_is_cut_off_gets_what_it_missed(trio, volume):
    _, near, far = trio.hosts
    far.namespaces.unplug()
    write(volume, "two")
    assert "n3" in trio.zcsi("sync", "data", status=1)
    wait_for(lambda: have_all(trio, near), "the other copy has it")
    assert not have_all(trio, far)
    far.namespaces.plug()
    trio.sync()
    assert have_all(trio, near, far)


@pytest.mark.parametrize("way", WAYS)
def test_a_push_fails_while_packets_are_lost_in_one_direction(trio, volume, way):
    _, near, far = trio.hosts
    impair(far, way, "loss", "100%")
    try:
        write(volume, "two")
        assert "n3" in trio.zcsi("sync", "data", status=1)
        wait_for(lambda: have_all(trio, near), "the other copy has it")
    finally:
        impair(far, way, "delay", "0ms")
    trio.sync()
    assert have_all(trio, near, far)


def receives(host):
    """True while a zfs receive of this host's zcsi-node runs."""
    for pid in children(host.node_daemon.process.pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if b"receive" in Path(f"/proc/{pid}/cmdline").read_bytes():
                return True
    return False


@contextlib.contextmanager
def cut_in_the_middle(trio, volume):
    """Within the block, n3 has a part of a stream and is disconnected. A slow network lets that
    happen in the middle. After the block n3 has received only the rest; a stream from the beginning
    would make 20 MiB in all."""
    _, near, far = trio.hosts
    impair(far, "there", "rate", "8mbit")
    write(volume, "much", 12 * MIB)
    before = sent_to(far)
    trio.owner.agent.Push(id="data")
    wait_for(lambda: sent_to(far) > before + 8 * MIB, "most of it has been sent", 60)
    far.namespaces.unplug()
    wait_for(lambda: have_all(trio, near), "the other copy has it", 60)
    impair(far, "there", "delay", "0ms")
    yield
    wait_for(lambda: not receives(far), "n3 has ended the stream, and kept its part", 120)
    far.namespaces.plug()
    trio.sync()
    assert have_all(trio, near, far)
    assert sent_to(far) < before + 18 * MIB


def test_a_stream_that_was_cut_goes_on_where_it_ended(trio, volume):
    with cut_in_the_middle(trio, volume):
        pass


def test_a_stream_that_was_cut_outlives_the_pushes_to_another_copy(trio, volume):
    """The owner keeps the snapshot at which the cut stream ends, even if zcsi-node was killed
    since."""
    _, near, _ = trio.hosts

    def push_to_near(name):
        write(volume, name, 4096)
        trio.owner.agent.Push(id="data")
        wait_for(lambda: have_all(trio, near), f"the other copy has {name}", 60)

    with cut_in_the_middle(trio, volume):
        push_to_near("two")
        push_to_near("three")
        trio.owner.node_daemon.kill()
        trio.owner.restart(trio.owner.node_daemon)
        push_to_near("four")
        push_to_near("five")
        assert len(own(trio.owner.dataset("data"))) <= 8
    assert len(own(trio.owner.dataset("data"))) <= 4


def test_a_node_without_the_data_harms_no_copy(trio, volume, member_certificates):
    """The certificate of a fourth node allows calls of zcsi.v1.Replica, but that node is no member
    of this volume, so all its changes are denied."""
    parts = [Path(member_certificates, name).read_bytes()
             for name in ("ca.pem", f"{STRANGER}.key", f"{STRANGER}.pem")]
    stranger = Client(endpoint(trio.other).removeprefix("tcp://"),
                      grpc.ssl_channel_credentials(*parts))
    copy = stranger.GetCopy(id="data").copy
    denied = grpc.StatusCode.PERMISSION_DENIED
    header = {"volume": volume.record(), "members": f"{copy.lineage}:300:n1,n2,n3",
              "snapshot": "forged", "guid": 1, "discard": True}
    with refused(denied, naming=STRANGER):
        stranger.DropCopy(id="data", lineage=copy.lineage)
    with refused(denied, naming=STRANGER):
        stranger.ThinCopy(id="data", lineage=copy.lineage, snapshots=copy.snapshots)
    with refused(denied, naming=STRANGER):
        stranger.Receive.stream(iter([{"header": header}]))
    header["members"] += f",{STRANGER}"
    with refused(denied, naming=STRANGER):
        stranger.Receive.stream(iter([{"header": header}]))
    for node in ("n1", STRANGER):
        with refused(denied, naming=STRANGER):
            stranger.Promote(id="data", from_node_id=node, epoch=1, guid=copy.snapshots[0].guid,
                             lineage=copy.lineage)
    with refused(denied, naming=STRANGER):
        stranger.GetMove(id="data", node_id="n2")
    stranger.close()
    trio.sync()
    assert have_all(trio, *trio.hosts[1:])


def test_a_copy_that_was_away_goes_on_after_a_move(trio, volume):
    """Copies keep the snapshot that is the newest one of a disconnected copy, and few others. So
    after a move the new owner sends that copy only what it lacks."""
    former, owner, far = trio.hosts
    trio.sync()
    base = trio.newest(trio.replica(host=far))
    far.namespaces.unplug()
    for name in ("two", "three", "four"):
        write(volume, name)
        trio.owner.agent.Push(id="data")
        wait_for(lambda: have_all(trio, owner), "the other copy has it", 60)
    volume.down()
    trio.owner.agent.StartMove(id="data", node_id="n2")
    wait_for(lambda: "data" in owner.leaves(), "the volume has moved", 120)
    kept = run("zfs", "list", "-Hp", "-d", "1", "-t", "snapshot", "-o", "guid",
               owner.dataset("data")).split()
    assert base in kept and len(kept) < 8
    start = owner.node_daemon.mark()
    far.namespaces.plug()
    owner.agent.Push(id="data")
    wait_for(lambda: have_all(trio, former, far, owner=owner), "both copies go on", 60)
    sends = [argv for argv in owner.node_daemon.runs(start) if " send " in argv]
    assert sends and all(" -i " in argv for argv in sends)


def test_a_volume_moves_and_the_third_copy_goes_on(trio, volume):
    """The new owner continues both copies: each stream begins at the copy's newest snapshot."""
    former, owner, far = trio.hosts
    write(volume, "two")
    wanted = {path.name: path.read_bytes() for path in Path(volume.target).iterdir()}
    volume.down()
    start = owner.node_daemon.mark()
    trio.zcsi("move", "data", "n2")
    heir = Volume(owner, "data")
    for step in (heir.attach, heir.stage, heir.publish):
        step()
    assert {path.name: path.read_bytes() for path in Path(heir.target).iterdir()} == wanted
    write(heir, "three")
    trio.sync()
    assert have_all(trio, former, far, owner=owner)
    sends = [argv for argv in owner.node_daemon.runs(start) if " send " in argv]
    assert sends and all(" -i " in argv for argv in sends)
    heir.down()
