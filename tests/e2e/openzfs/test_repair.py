# SPDX-License-Identifier: MPL-2.0
"""A node with a copy that is silent for repair_after is replaced by another one, and its old copy
is dropped when it answers. Three hosts: n1 has the volume, n2 the copy, and n3 can have one."""
import pytest

from copies import create, in_use, write
from daemon import wait_for
from host import get, run, Volume
from test_copies_three import have_all, impair

PARAMETERS = {"replicas": "2", "sync_every": "10s", "repair_after": "10s"}


def record(host):
    """Return the members of the volume on this host, and the nodes that are owed."""
    parts = get(host.dataset("data"), "zcsi:members").split(":")[2:]
    return [set(part.split(",")) for part in parts] + [set()] * (2 - len(parts))


def told(host, words):
    return [line for line in host.node_daemon.text().splitlines() if words in line]


def shown(trio):
    """Return (volume, owner, node of the copy, state) of each copy, also while a host is silent or
    a copy is in trouble."""
    done = trio.run("copies", "-Hp")
    assert done.returncode == 3
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return [(row[0], row[1], row[2], row[6]) for row in rows]


def restart(host):
    host.node_daemon.kill()
    host.restart(host.node_daemon)


def has_copy(host):
    return "_replica/data" in host.leaves()


@pytest.fixture
def volume(trio):
    """A volume of n1 that a workload uses, with a complete copy on n2 alone."""
    with in_use(trio) as made:
        write(made, "one")
        trio.zcsi("modify", "data", "sync_every=10s", "repair_after=10s")
        trio.zcsi("copy", "add", "data", "n2")
        wait_for(trio.settled, "the copy is complete", 60)
        assert "repair_after=10" in get(trio.owner.dataset("data"), "zcsi:push")
        yield made


def replaced(trio):
    """Wait until n3 has taken the place of n2."""
    owner, _, third = trio.hosts
    wait_for(lambda: record(owner) == [{"n1", "n3"}, {"n2"}], "n2 is replaced", 180)
    assert have_all(trio, third)


def test_a_silent_node_is_replaced_and_loses_its_copy(trio, volume):
    """The copy of the lost node stays its own until the new one is complete, and goes when the node
    answers. zcsi-node of the owner may be restarted meanwhile."""
    owner, lost, third = trio.hosts
    lost.namespaces.unplug()
    replaced(trio)
    wait_for(lambda: told(owner, "lost node is replaced"), "it is in the log")
    assert len(told(owner, "replacement copy is added")) == 1
    assert has_copy(lost) and has_copy(third)
    assert ("data", "n1", "n2", "replaced, dropped when it answers") in shown(trio)
    assert "has been replaced" in trio.run("why", "data").stdout
    write(volume, "two")
    trio.zcsi("sync", "data")
    assert have_all(trio, third)
    restart(owner)
    assert record(owner) == [{"n1", "n3"}, {"n2"}] and has_copy(lost)
    lost.namespaces.plug()
    wait_for(lambda: not has_copy(lost), "the old copy is dropped", 120)
    wait_for(lambda: record(owner) == [{"n1", "n3"}, set()], "n2 is forgotten", 60)
    wait_for(trio.settled, "the copy is up to date")
    assert trio.copies() == [("data", "n1", "n3", "ok")]
    assert len(told(owner, "replacement copy is added")) == 1


def test_a_node_that_returns_early_leaves_one_copy_too_many_for_a_while(trio, volume):
    """A repair that has begun is finished: the new copy is completed, and the other one dropped."""
    owner, lost, third = trio.hosts
    write(volume, "much", 12 << 20)
    trio.sync()
    impair(third, "there", "rate", "4mbit")
    lost.namespaces.unplug()
    wait_for(lambda: record(owner)[0] == {"n1", "n2", "n3"}, "n3 is to have a copy", 120)
    lost.namespaces.plug()
    wait_for(lambda: record(owner)[0] == {"n1", "n3"}, "n2 is no member any more", 240)
    wait_for(lambda: not has_copy(lost), "its copy is dropped", 60)
    assert have_all(trio, third)
    assert len(told(owner, "replacement copy is added")) == 1


def test_a_partitioned_owner_replaces_no_node(trio, volume):
    """The owner reaches itself alone, so two of three are silent. The copies stay as they are."""
    owner, other, third = trio.hosts
    owner.namespaces.unplug()
    wait_for(lambda: told(owner, "cannot replace a lost node"), "n2 counts as lost", 120)
    assert "third" in told(owner, "cannot replace a lost node")[0]
    assert record(owner) == [{"n1", "n2"}, set()]
    owner.namespaces.plug()
    wait_for(trio.settled, "the copy is up to date", 120)
    assert has_copy(other) and not has_copy(third)


def test_a_deletion_reaches_nodes_that_answer_later(trio):
    """The volume stays in the trash until the last copy is dropped: that of a member, and that of a
    node that was replaced, though no snapshot is left that would keep it there."""
    owner, lost, third = trio.hosts
    volume = create(Volume(owner, "data"), PARAMETERS)
    wait_for(trio.settled, "the copy is complete", 60)
    if record(owner)[0] != {"n1", "n2"}:
        lost, third = third, lost
    lost.namespaces.unplug()
    wait_for(lambda: record(owner)[1] == {lost.node_id}, "a node is replaced", 180)
    volume.delete()
    wait_for(lambda: not has_copy(third), "the copy that is there is dropped", 60)
    [left] = [leaf for leaf in owner.leaves() if leaf.startswith("_trash/")]
    trashed = owner.dataset(left)
    wait_for(lambda: not run("zfs", "list", "-Hd1", "-t", "snapshot", trashed),
             "no snapshot is left", 60)
    restart(owner)
    owner.read_again()
    assert left in owner.leaves() and has_copy(lost)
    lost.namespaces.plug()
    wait_for(lambda: not has_copy(lost), "the other one is dropped too", 120)
    wait_for(lambda: owner.leaves() == ["_trash"], "the volume is gone", 120)
    assert trio.copies() == []


def test_a_copy_without_a_volume_is_shown_and_stays(trio):
    """The volume was destroyed by hand. Its copy may be the last that there is of it."""
    owner, other, _ = trio.hosts
    create(Volume(owner, "data"))
    trio.zcsi("copy", "add", "data", "n2")
    wait_for(trio.settled, "the copy is complete", 60)
    run("zfs", "destroy", "-r", owner.dataset("data"))
    owner.rescan(lambda: not owner.ids())
    wait_for(lambda: "no node that answers" in trio.run("copies", "-Hp").stdout, "it is shown")
    [row] = shown(trio)
    assert row[0] == "data" and row[2] == "n2" and "zcsi why" in row[3]
    assert "zfs destroy -r" in trio.run("why", "data").stdout
    restart(other)
    restart(owner)
    assert has_copy(other)
