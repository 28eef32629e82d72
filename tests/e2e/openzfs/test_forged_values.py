# SPDX-License-Identifier: MPL-2.0
"""Values of properties that look like output of zfs, where copies, rollbacks and the start of a
zcsi-node read them: they harm the dataset that has them, and no other one."""
import grpc

from client import refused
from copies import in_use
from host import Volume, datasets, get, run
from snapshots import take

CODE = grpc.StatusCode


def lines(dataset, **properties):
    """Return lines of `zfs get`, with and without a source, that describe a dataset."""
    return "".join(f"{dataset}\t{name}\t{value}{source}\n" for name, value in properties.items()
                   for source in ("", "\tlocal"))


def test_a_value_invents_no_copy(pair):
    with in_use(pair):
        pair.add()
        other, copy, ghost = pair.other.agent, pair.replica(), pair.replica("ghost")
        listed = "\t".join(["ghost", ghost, "1", "2", "3", "4", "-", get(copy, "zcsi:members"), "9",
                            "-", "-", "-", "-"])
        forged = lines(ghost, **{"zcsi:volume": "ghost", "zcsi:epoch": "9"})
        run("zfs", "set", f"zcsi:accepted=x\n{listed}\n{forged}x", copy)
        assert not other.ListCopies().copies
        with refused(CODE.UNAVAILABLE, naming=copy):
            other.GetCopy(id="data")
        assert not other.GetCopy(id="ghost").HasField("copy")
        run("zfs", "inherit", "zcsi:accepted", copy)
        assert [row.id for row in other.ListCopies().copies] == ["data"]
        pair.sync()


def test_a_value_marks_no_rollback_of_another_volume(host, volume):
    """A zcsi-node that starts finishes the rollbacks that the earlier one began. It would destroy a
    dataset with the name of such a clone."""
    volume.create()
    Volume(host, "other").create()
    clone = host.dataset("_trash/new-other")
    run("zfs", "create", "-p", clone)
    forged = lines(clone, **{"zcsi:volume": "other", "zcsi:rollback": "7"})
    run("zfs", "set", f"zcsi:rollback=x\n{forged}x", host.dataset("data"))
    host.node_daemon.kill()
    host.restart(host.node_daemon)
    with refused(CODE.NOT_FOUND):  # known only when all rollbacks are finished
        Volume(host, "ghost").record()
    assert clone in datasets(host.parent) and host.ids() == ["data", "other"]


def test_a_value_sets_nothing_by_a_rollback(host, volume):
    volume.create()
    name = host.dataset("data")
    for leaf in ("one", "two"):  # a volume without anything newer is not rolled back
        take(volume, leaf)
    run("zfs", "set", "a:b=x\nsetuid\toff", name)
    with refused(CODE.UNAVAILABLE, naming=name):
        host.agent.RollbackDataset(id="data", snapshot_id="data@one")
    assert get(name, "setuid") == "on" and host.leaves() == ["data"]
    run("zfs", "inherit", "a:b", name)
    host.agent.RollbackDataset(id="data", snapshot_id="data@one")
