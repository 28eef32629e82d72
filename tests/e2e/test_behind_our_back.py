# SPDX-License-Identifier: MPL-2.0
"""What an administrator does to the pool by hand is seen, and taken for what it is. The timer sees
it too; the tests do not wait for that but send SIGHUP."""
import signal

import grpc
import pytest

from client import refused
from crash.state import names
from daemon import wait_for
from host import get, run, SIZE, Volume

CODE = grpc.StatusCode


def snapshots(host):
    return [entry.snapshot.snapshot_id for entry in host.controller.ListSnapshots().entries]


def take(volume, name="s"):
    return volume.host.controller.CreateSnapshot(
        source_volume_id=volume.id, name=name).snapshot.snapshot_id


def delete_snapshot(host, name):
    host.controller.DeleteSnapshot(snapshot_id=name)


def restore(host, snapshot, name="copy"):
    volume = Volume(host, name)
    volume.create(volume_content_source={"snapshot": {"snapshot_id": snapshot}})
    return volume


def seen(host, condition):
    """After a SIGHUP the condition becomes true."""
    host.node_daemon.signal(signal.SIGHUP)
    wait_for(condition, f"seen: {names(host.parent)}")


def read_again(host):
    """A reading of the pool that began after this call has ended."""
    before = host.node_daemon.mark()
    seen(host, lambda: any(argv.startswith("zfs get -r") for argv in host.node_daemon.runs(before)))


def test_the_timer_sees_what_nobody_announces(new_host):
    host = new_host(node_args=["--rescan", "1"]).start()
    run("zfs", "create", "-o", "zcsi:version=1", "-o", "zcsi:volume=data", host.dataset("data"))
    wait_for(lambda: host.ids() == ["data"], "the timer sees a new volume")
    run("zfs", "destroy", host.dataset("data"))
    wait_for(lambda: host.ids() == [], "the timer sees that it is gone")


def test_a_renamed_volume_is_nobodys_until_it_is_renamed_back(host, volume):
    volume.create()
    run("zfs", "rename", host.dataset("data"), host.dataset("away"))
    seen(host, lambda: host.ids() == [])
    volume.delete()
    Volume(host, "away").delete()
    assert host.leaves() == ["away"]
    run("zfs", "rename", host.dataset("away"), host.dataset("data"))
    seen(host, lambda: host.ids() == ["data"])


def test_two_volumes_that_changed_names_are_nobodys(host):
    for name in ("one", "two"):
        Volume(host, name).create()
    for old, new in (("one", "none"), ("two", "one"), ("none", "two")):
        run("zfs", "rename", host.dataset(old), host.dataset(new))
    seen(host, lambda: host.ids() == [])
    with refused(CODE.ALREADY_EXISTS, naming="one"):
        Volume(host, "one").create()
    Volume(host, "two").delete()
    assert host.leaves() == ["one", "two"]


def test_a_snapshot_by_hand_is_listed_and_restored_and_not_deleted(host, volume):
    volume.create()
    run("zfs", "snapshot", host.dataset("data") + "@by-hand")
    seen(host, lambda: snapshots(host) == ["data@by-hand"])
    restore(host, "data@by-hand").delete()
    with refused(CODE.FAILED_PRECONDITION, naming="data@by-hand"):
        delete_snapshot(host, "data@by-hand")
    assert names(host.parent) == ["data", "data@by-hand"]
    run("zfs", "destroy", host.dataset("data") + "@by-hand")
    seen(host, lambda: snapshots(host) == [])


def test_a_snapshot_destroyed_by_hand_is_gone(host, volume):
    volume.create()
    assert take(volume) == "data@s"
    run("zfs", "destroy", host.dataset("data") + "@s")
    seen(host, lambda: snapshots(host) == [])
    delete_snapshot(host, "data@s")
    with refused(CODE.NOT_FOUND, naming="data@s"):
        restore(host, "data@s")
    assert take(volume) == "data@s" and snapshots(host) == ["data@s"]


def test_a_snapshot_destroyed_by_hand_and_not_noticed_is_not_restored(host, volume):
    volume.create()
    take(volume)
    run("zfs", "destroy", host.dataset("data") + "@s")
    with refused(CODE.NOT_FOUND, naming="data@s"):
        restore(host, "data@s")
    delete_snapshot(host, "data@s")
    assert host.leaves() == host.ids() == ["data"]


def test_a_snapshot_made_again_by_hand_is_not_the_one_that_is_deleted(host, volume):
    volume.create()
    take(volume)
    for verb in ("destroy", "snapshot"):
        run("zfs", verb, host.dataset("data") + "@s")
    with refused(CODE.FAILED_PRECONDITION, CODE.ABORTED, naming="data@s"):
        delete_snapshot(host, "data@s")
    assert names(host.parent) == ["data", "data@s"]


def test_a_held_snapshot_stays_until_it_is_released(host, volume):
    volume.create()
    take(volume)
    run("zfs", "hold", "backup", host.dataset("data") + "@s")
    with refused(CODE.FAILED_PRECONDITION, naming="data@s"):
        delete_snapshot(host, "data@s")
    run("zfs", "release", "backup", host.dataset("data") + "@s")
    delete_snapshot(host, "data@s")
    assert names(host.parent) == ["data"]


def test_a_clone_by_hand_keeps_the_snapshot_and_is_no_volume(host, volume):
    volume.create()
    take(volume)
    run("zfs", "clone", host.dataset("data") + "@s", host.dataset("copy"))
    delete_snapshot(host, "data@s")
    assert snapshots(host) == [] and host.ids() == ["data"]
    assert names(host.parent) == ["copy", "data", "data@s"]
    run("zfs", "destroy", host.dataset("copy"))
    assert names(host.parent) == ["data"]
    volume.delete()
    assert names(host.parent) == []


def test_a_promoted_clone_takes_the_snapshot_with_it(host, volume):
    volume.create()
    take(volume)
    restore(host, "data@s")
    run("zfs", "promote", host.dataset("copy"))
    seen(host, lambda: snapshots(host) == ["copy@s"])
    assert host.ids() == ["copy", "data"]
    volume.delete()
    assert names(host.parent) == ["copy", "copy@s"]


def test_undelete_is_one_rename(host, volume):
    volume.create()
    take(volume)
    volume.delete()
    assert host.ids() == [] and snapshots(host) == ["data@s"]
    trashed = next(name for name in host.leaves() if name.startswith("_trash/"))
    run("zfs", "rename", host.dataset(trashed), host.dataset("data"))
    seen(host, lambda: host.ids() == ["data"])
    assert snapshots(host) == ["data@s"] and volume.create().volume.capacity_bytes == SIZE


def test_what_only_waits_for_a_snapshot_destroyed_by_hand_is_reaped(host, volume):
    volume.create()
    take(volume)
    volume.delete()
    trashed = next(name for name in host.leaves() if name.startswith("_trash/"))
    run("zfs", "destroy", host.dataset(trashed) + "@s")
    seen(host, lambda: host.leaves() == ["_trash"])


def test_what_somebody_else_put_into_the_trash_stays(host, volume):
    volume.create()
    take(volume)
    volume.delete()
    for leaf in ("a-1", "z-1"):
        run("zfs", "create", "-o", "canmount=noauto", host.dataset(f"_trash/{leaf}"))
    delete_snapshot(host, "data@s")
    foreign = ["_trash", "_trash/a-1", "_trash/z-1"]
    wait_for(lambda: host.leaves() == foreign, "the volume is reaped")
    read_again(host)
    assert host.leaves() == foreign


INHERITED = {
    "zcsi:version": "2", "zcsi:volume": "other", "zcsi:parameters": "zfs.atime=off",
    "zcsi:published": "n2:1:rw", "zcsi:source": "volume:other", "zcsi:deleted": "1",
    "zcsi:root": "1:1:0777", "zcsi:snapshot": "mine", "zcsi:size": "1", "zcsi:group": "mine",
}


@pytest.mark.parametrize("name", INHERITED)
def test_an_inherited_property_says_nothing(host, name):
    bare, data = Volume(host, "bare"), Volume(host, "data")
    for volume in (bare, data):
        volume.create()
    take(data)
    run("zfs", "snapshot", host.dataset("data") + "@by-hand")
    run("zfs", "create", "-o", "canmount=noauto", host.dataset("foreign"))
    read_again(host)
    before = str(host.controller.ListVolumes()), str(host.controller.ListSnapshots())
    run("zfs", "set", f"{name}={INHERITED[name]}", host.parent)
    assert get(host.dataset("foreign"), name) == INHERITED[name]
    read_again(host)
    assert (str(host.controller.ListVolumes()), str(host.controller.ListSnapshots())) == before
    with refused(CODE.FAILED_PRECONDITION, naming="data@by-hand"):
        delete_snapshot(host, "data@by-hand")
    Volume(host, "foreign").delete()
    bare.delete()
    assert names(host.parent) == ["data", "data@by-hand", "data@s", "foreign"]


def test_a_volumes_own_property_makes_no_snapshot_ours(host, volume):
    volume.create()
    run("zfs", "set", "zcsi:snapshot=s", host.dataset("data"))
    run("zfs", "snapshot", host.dataset("data") + "@s")
    seen(host, lambda: snapshots(host) == ["data@s"])
    with refused(CODE.FAILED_PRECONDITION, naming="data@s"):
        delete_snapshot(host, "data@s")
    assert names(host.parent) == ["data", "data@s"]
