# SPDX-License-Identifier: MPL-2.0
"""Copies lose the snapshots that the owner's volume does not have any more, and no other ones."""
import grpc
import pytest

from client import refused
from copies import in_use, own, write
from daemon import wait_for
from host import get, run, Volume
from test_copies_faults import is_tidy, synced
from test_move import filled
from test_receive import LINEAGE, Source, create, replica, state

SMALL = 4096


@pytest.fixture
def volume(pair):
    with in_use(pair) as made:
        pair.add()
        yield made


def leaves(dataset):
    """Return the names of the snapshots of a dataset, without the dataset's, oldest first."""
    names = run("zfs", "list", "-Hd1", "-t", "snapshot", "-s", "createtxg", "-o", "name", dataset)
    return [name.split("@")[1] for name in names.split()]


def push(pair, volume, *names):
    """For each name: write a file with this name and push the volume."""
    for name in names:
        write(volume, name, SMALL)
        synced(pair)


def test_a_copy_has_few_snapshots_however_many_pushes_there_were(pair, volume):
    copy = pair.replica()
    pair.owner.agent.SnapshotDataset(id="data", name="asked")
    run("zfs", "snapshot", f"{copy}@by-hand")
    push(pair, volume, *"abcdef")
    assert len(own(copy)) == 2 and is_tidy(pair)
    assert {"asked", "by-hand"} < set(leaves(copy))


def test_a_snapshot_that_was_deleted_goes_and_its_name_is_free(pair, volume):
    copy, name = pair.replica(), pair.owner.dataset("data")
    for asked in ("one", "two"):
        pair.owner.agent.SnapshotDataset(id="data", name=asked)
    push(pair, volume, "a", "b")
    pair.owner.agent.DestroyDatasetSnapshot(id="data@one")
    push(pair, volume, "c")
    assert "one" not in leaves(copy) and "two" in leaves(copy)
    pair.owner.agent.DestroyDatasetSnapshot(id="data@two")
    pair.owner.agent.SnapshotDataset(id="data", name="two")
    push(pair, volume, "d")
    assert get(f"{copy}@two", "guid") == get(f"{name}@two", "guid")


def keep(pair, value):
    pair.owner.agent.ModifyDataset(id="data",
                                   properties=[{"name": "zcsi:keep", "value": value}])


def test_scheduled_snapshots_are_pushed_and_destroyed_with_the_volumes(pair, volume):
    """The copy has the schedule too, for the time when it is the volume."""
    copy, name = pair.replica(), pair.owner.dataset("data")
    old = "2020-01-01T00:00:00Z_yearly"
    run("zfs", "snapshot", f"{name}@{old}")
    wait_for(lambda: old in str(pair.owner.agent.ListDatasetSnapshots()), "zcsi-node knows it")
    keep(pair, "yearly=1")
    wait_for(lambda: old not in leaves(name), "the old snapshot is gone")
    [scheduled] = [leaf for leaf in leaves(name) if leaf.endswith("Z_yearly")]
    push(pair, volume, "a")
    assert scheduled in leaves(copy) and get(copy, "zcsi:keep") == "yearly=1"
    keep(pair, "none")  # otherwise another one would be taken within a minute
    run("zfs", "destroy", f"{name}@{scheduled}")
    push(pair, volume, "b", "c")
    assert not [leaf for leaf in leaves(copy) if leaf.endswith("_yearly")] and is_tidy(pair)


def test_held_and_cloned_snapshots_of_a_copy_stay(pair, volume):
    push(pair, volume, "a", "b")
    copy, look = pair.replica(), pair.other.dataset("look")
    held, cloned = leaves(copy)
    run("zfs", "hold", "keep", f"{copy}@{held}")
    run("zfs", "clone", "-o", "canmount=off", f"{copy}@{cloned}", look)
    push(pair, volume, "c", "d", "e")
    assert leaves(copy)[:2] == [held, cloned] and len(leaves(copy)) == 4
    run("zfs", "release", "keep", f"{copy}@{held}")
    run("zfs", "destroy", look)
    push(pair, volume, "f")
    assert len(leaves(copy)) == 2


def test_a_snapshot_that_was_deleted_is_not_back_after_a_move(pair):
    filled(pair)
    assert "asked" in leaves(pair.replica())
    pair.owner.agent.DestroyDatasetSnapshot(id="data@asked")
    pair.zcsi("move", "data", "n2")
    assert pair.other.agent.GetDataset(id="data").dataset.id == "data"
    assert not pair.other.agent.ListDatasetSnapshots(dataset_id="data").snapshots
    assert "asked" not in leaves(pair.other.dataset("data"))


def test_a_volume_is_pushed_when_it_is_detached(pair, volume):
    before = pair.newest(pair.replica())
    write(volume, "one")
    volume.down()
    wait_for(lambda: pair.newest(pair.replica()) != before and pair.in_step(), "it was pushed")


@pytest.fixture
def target(new_hosts):
    """A host with a copy that has four snapshots of zcsi and one of a person."""
    owner, host = hosts = new_hosts(2)
    for each in reversed(hosts):
        each.start()
    volume = Volume(owner, "data")
    create(volume)
    source, last = Source(owner, volume, "-Lc"), None
    for leaf in ("_repl-a", "_repl-b", "by-hand", "_repl-c", "_repl-d"):
        source.snapshot(leaf).push(host, leaf, source.bytes(leaf, last))
        last = leaf
    yield host


def thin(host, *names, **fields):
    """Call ThinCopy with these snapshots of the copy, and `fields` of the request. Return the
    snapshots that are left."""
    guids = {row.name: row.guid for row in state(host).snapshots}
    named = [{"name": name, "guid": guids[name]} for name in names]
    host.agent.ThinCopy(**{"id": "data", "lineage": LINEAGE, "snapshots": named, **fields})
    return leaves(replica(host))


def test_only_what_its_owner_may_name_is_destroyed(target):
    everything = ["_repl-a", "_repl-b", "by-hand", "_repl-c", "_repl-d"]
    run("zfs", "set", "zcsi:epoch=3", replica(target))
    precondition = grpc.StatusCode.FAILED_PRECONDITION
    with refused(precondition, naming="another volume"):
        thin(target, "_repl-a", lineage="f" * 16, epoch=3)
    with refused(precondition, naming="another owner"):
        thin(target, "_repl-a", epoch=2)
    with refused(grpc.StatusCode.INVALID_ARGUMENT, naming="256"):
        target.agent.ThinCopy(id="data", lineage=LINEAGE, epoch=3,
                              snapshots=[{"name": "_repl-a", "guid": 1}] * 257)
    target.agent.ThinCopy(id="none", lineage=LINEAGE)
    assert thin(target, "by-hand", "_repl-d", epoch=3) == everything
    forged = [{"name": "_repl-a", "guid": 1}, {"name": "_repl-a,_repl-b", "guid": 1}]
    assert thin(target, epoch=3, snapshots=forged) == everything
    run("zfs", "hold", "keep", f"{replica(target)}@_repl-b")
    assert thin(target, "_repl-a", "_repl-b", "_repl-c", epoch=4) == \
        ["_repl-b", "by-hand", "_repl-d"]
    run("zfs", "release", "keep", f"{replica(target)}@_repl-b")


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("which", ["owner", "other"])
def test_thinning_a_copy_is_finished_after_a_kill(new_pair, gate, which, runs):
    """The zfs destroy, held at the gate, runs after the end of zcsi-node if `runs`, else never."""
    with new_pair(other_env=gate.env) as pair, in_use(pair) as volume:
        pair.add()
        push(pair, volume, "a", "b")
        gate.hold(f"destroy {pair.replica()}@")
        write(volume, "c", SMALL)
        pair.owner.agent.Push(id="data")
        gate.arrived()
        host = getattr(pair, which)
        host.node_daemon.kill()
        if not runs:
            gate.kill()
        gate.open()
        host.restart(host.node_daemon)
        push(pair, volume, "d", "e")
        assert len(own(pair.replica())) == 2 and is_tidy(pair)
