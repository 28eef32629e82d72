# SPDX-License-Identifier: MPL-2.0
"""Changes that an administrator makes to the pool by hand are noticed and treated correctly.
OpenZFS reports changes as events. zfs-fuse does not, so zcsi-node scans the pool by a timer; with
zfs-fuse the tests do not wait for the timer but send SIGHUP."""
import contextlib
import os
import signal
import time
from pathlib import Path

import grpc
import pytest

from client import MIB, refused
from crash.state import names
from daemon import wait_for
from host import get, Host, KERNEL_ZFS, run, SIZE, Volume
from staged import points, used

CODE = grpc.StatusCode
OURS = {"zcsi:version": "1", "zcsi:volume": "data", "refquota": str(SIZE)}


@pytest.fixture
def host(new_host):
    """A host on which the timer never triggers a scan during a test."""
    return new_host(node_args=["--rescan", "3600"]).start()


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
    """Wait until the condition is true, after an event of OpenZFS or, with zfs-fuse, a SIGHUP."""
    if not KERNEL_ZFS:
        host.node_daemon.signal(signal.SIGHUP)
    wait_for(condition, "seen")


def feeds(host):
    """Return the ids of the `zpool events` processes that report changes to the daemon."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = (path / "stat").read_text().rpartition(")")[2].split()[1]
            verb = (path / "cmdline").read_text().split("\0")[1:2]
            if int(parent) == host.node_daemon.process.pid and verb == ["events"]:
                found.append(int(path.name))
    return found


def test_the_timer_finds_changes_without_an_event(new_host):
    host = new_host(node_args=["--rescan", "1"]).start()
    run("zfs", "create", "-o", "zcsi:version=1", "-o", "zcsi:volume=data", host.dataset("data"))
    wait_for(lambda: host.ids() == ["data"], "the timer sees a new volume")
    run("zfs", "destroy", host.dataset("data"))
    wait_for(lambda: host.ids() == [], "the timer sees that it is gone")


def test_a_volume_made_by_hand_is_listed_until_it_is_destroyed(host, by_hand):
    dataset = by_hand("data", OURS)
    run("zfs", "snapshot", f"{dataset}@s")
    seen(host, lambda: host.ids() == ["data"] and snapshots(host) == ["data@s"])
    assert Volume(host, "data").record().size == SIZE
    run("zfs", "destroy", "-r", dataset)
    seen(host, lambda: host.ids() == [])
    assert snapshots(host) == []


def test_a_size_set_by_hand_is_used(host, volume):
    volume.create()
    run("zfs", "set", f"refquota={2 * SIZE}", host.dataset("data"))
    seen(host, lambda: volume.record().size == 2 * SIZE)
    assert volume.create().volume.capacity_bytes == 2 * SIZE


def test_a_dataset_without_the_volume_property_is_no_volume(host, volume):
    volume.create()
    take(volume)
    run("zfs", "inherit", "zcsi:volume", host.dataset("data"))
    seen(host, lambda: host.ids() == [])
    assert snapshots(host) == []
    run("zfs", "set", "zcsi:volume=data", host.dataset("data"))
    seen(host, lambda: host.ids() == ["data"])
    assert snapshots(host) == ["data@s"]


def test_a_volume_renamed_out_of_the_parent_is_gone_until_renamed_back(host, volume):
    volume.create()
    take(volume)
    elsewhere = f"{host.parent}-elsewhere"
    run("zfs", "rename", host.dataset("data"), elsewhere)
    seen(host, lambda: host.ids() == [])
    assert snapshots(host) == []
    run("zfs", "rename", elsewhere, host.dataset("data"))
    seen(host, lambda: host.ids() == ["data"])
    assert snapshots(host) == ["data@s"]


def test_an_unnoticed_dataset_is_not_removed_as_a_failed_clone(host, volume, by_hand):
    away = by_hand("away", {**OURS, "zcsi:volume": "copy"})
    guid, made = get(away, "guid"), int(get(away, "creation"))
    volume.create(parameters={"provisioning": "thick"})
    volume.attach(), volume.stage(), volume.publish()
    with open(f"{volume.target}/file", "wb") as file:
        file.write(os.urandom(4 * MIB))
    run("sync", "-f", volume.target)
    host.limit(SIZE + MIB)
    wait_for(lambda: time.time() >= made + 1, "it is older than the call")
    run("zfs", "rename", away, host.dataset("copy"))
    # If zcsi has noticed the rename (an event of OpenZFS), it refuses the call at once.
    with refused(CODE.RESOURCE_EXHAUSTED, CODE.ALREADY_EXISTS, naming="copy"):
        Volume(host, "copy").create(volume_content_source={"volume": {"volume_id": "data"}})
    assert get(host.dataset("copy"), "guid") == guid
    volume.down()


def test_a_snapshot_renamed_by_hand_is_not_deleted(host, volume):
    volume.create()
    take(volume)
    run("zfs", "rename", host.dataset("data") + "@s", host.dataset("data") + "@t")
    seen(host, lambda: snapshots(host) == ["data@t"])
    with refused(CODE.FAILED_PRECONDITION, naming="data@t"):
        delete_snapshot(host, "data@t")


def test_a_rollback_takes_the_later_snapshots_with_it(host, volume):
    volume.create()
    for name in ("early", "late", "latest"):
        take(volume, name)
    run("zfs", "rollback", "-r", host.dataset("data") + "@early")
    seen(host, lambda: snapshots(host) == ["data@early"])
    assert host.ids() == ["data"]


def receive(stream, *argv):
    run("sh", "-c", f"zfs send {stream} | zfs receive {' '.join(argv)}")


def test_a_received_dataset_is_listed(host, volume):
    volume.create()
    source, target = host.dataset("data"), host.dataset("copy")
    take(volume, "s")
    receive(f"{source}@s", target)
    run("zfs", "set", "zcsi:volume=copy", target)
    run("zfs", "set", "zcsi:version=1", target)
    seen(host, lambda: host.ids() == ["copy", "data"])
    assert snapshots(host) == ["copy@s", "data@s"]
    take(volume, "t")
    receive(f"-i @s {source}@t", "-F", target)
    seen(host, lambda: snapshots(host) == ["copy@s", "copy@t", "data@s", "data@t"])


def test_a_parent_destroyed_and_created_again_is_empty(host, volume):
    volume.create()
    run("zfs", "destroy", "-r", host.parent)
    seen(host, lambda: host.agent.GetHost().problem)
    with refused(CODE.UNAVAILABLE, naming=host.parent):
        volume.create()
    run("zfs", "create", "-o", "mountpoint=none", host.parent)
    wait_for(lambda: not host.agent.GetHost().problem, "the parent is there")
    assert host.ids() == []
    volume.create()


def test_a_pool_exported_is_a_problem_until_it_is_imported(pools):
    pool = pools.create(f"away{os.getpid()}", megabytes=128)
    with contextlib.closing(Host(pool, node_args=["--rescan", "3600"]).start()) as host:
        Volume(host, "data").create()
        run("zpool", "export", pool)
        seen(host, lambda: host.agent.GetHost().problem)
        run("zpool", "import", "-o", "cachefile=none", "-d", pools.folder, pool)
        seen(host, lambda: not host.agent.GetHost().problem)
        assert host.ids() == ["data"]


def test_many_changes_at_once_are_read_at_once(host):
    volumes = [Volume(host, f"v{n}") for n in range(20)]
    for volume in volumes:
        volume.create()
    wait_for(lambda: all(volume.record().guid for volume in volumes), "all are read by name")
    before = host.node_daemon.mark()
    run("zfs", "snapshot", "-r", f"{host.parent}@daily")
    seen(host, lambda: snapshots(host) == sorted(f"{volume.id}@daily" for volume in volumes))
    assert len(host.node_daemon.runs(before)) <= 2


def test_a_feed_that_ends_is_started_again(host, by_hand):
    found = feeds(host)
    assert len(found) == KERNEL_ZFS
    for process in found:
        os.kill(process, signal.SIGKILL)
    by_hand("data", OURS)
    seen(host, lambda: host.ids() == ["data"])
    wait_for(lambda: len(feeds(host)) == KERNEL_ZFS, "a feed runs")
    run("zfs", "destroy", host.dataset("data"))
    seen(host, lambda: host.ids() == [])


def test_no_feed_outlives_its_daemon(host):
    found = feeds(host)
    assert len(found) == KERNEL_ZFS
    host.node_daemon.kill()
    wait_for(lambda: not any(Path(f"/proc/{process}").exists() for process in found),
             "the feed has ended")


def change_often(dataset):
    """Make more changes than the kernel remembers as events, and than a pipe can hold."""
    for turn in range(16 if KERNEL_ZFS else 1):
        # zfs-fuse loses no events, as it has none, and sets only one property at a time.
        run("zfs", "set", *(f"test:p{n}={turn}" for n in range(50 if KERNEL_ZFS else 1)), dataset)


def test_changes_are_found_after_events_were_lost(host, by_hand):
    gone, other = (by_hand(name, {**OURS, "zcsi:volume": name}) for name in ("gone", "other"))
    seen(host, lambda: host.ids() == ["gone", "other"])
    found = feeds(host)
    with host.frozen():
        change_often(other)
        run("zfs", "destroy", gone)
        change_often(other)
    seen(host, lambda: host.ids() == ["other"])
    if KERNEL_ZFS:
        run("zpool", "events", "-c")
    run("zfs", "destroy", other)
    seen(host, lambda: host.ids() == [])
    assert feeds(host) == found


def make_child(volume):
    """Create and mount a dataset below a volume that is in use, and one below that."""
    for leaf in ("child", "child/grandchild"):
        name = volume.host.dataset(f"{volume.id}/{leaf}")
        run("zfs", "create", name)
        if KERNEL_ZFS:
            os.mkdir(f"{volume.staging}/{leaf}")
            run("mount", "-t", "zfs", name, f"{volume.staging}/{leaf}")
    assert len(points(volume.host)) == 6


def test_a_child_made_by_hand_is_unmounted_with_its_volume(host, volume):
    used(volume)
    make_child(volume)
    volume.unpublish()
    assert len(points(host)) == 3
    volume.unstage()
    assert points(host) == []
    with refused(CODE.FAILED_PRECONDITION, naming=f"zfs list -r {host.dataset('data')}"):
        volume.delete()
    run("zfs", "destroy", "-r", host.dataset("data/child"))
    volume.delete()


def test_a_child_in_use_is_not_unmounted(host, volume):
    used(volume)
    make_child(volume)
    with open(f"{volume.target}/child/grandchild/file", "wb"):
        for call in (volume.unpublish, volume.unpublish):
            with refused(CODE.FAILED_PRECONDITION, naming=f"pid {os.getpid()}"):
                call()
        assert volume.target in points(host)
    volume.unpublish()
    volume.unstage()
    assert points(host) == []


def test_a_renamed_dataset_is_no_volume_until_renamed_back(host, volume):
    volume.create()
    run("zfs", "rename", host.dataset("data"), host.dataset("away"))
    seen(host, lambda: host.ids() == [])
    volume.delete()
    Volume(host, "away").delete()
    assert host.leaves() == ["away"]
    run("zfs", "rename", host.dataset("away"), host.dataset("data"))
    seen(host, lambda: host.ids() == ["data"])


def test_two_datasets_that_swapped_names_are_no_volumes(host):
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
    with host.frozen():
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


def test_a_trashed_volume_is_reaped_after_its_snapshot_is_destroyed_by_hand(host, volume):
    volume.create()
    take(volume)
    volume.delete()
    trashed = next(name for name in host.leaves() if name.startswith("_trash/"))
    run("zfs", "destroy", host.dataset(trashed) + "@s")
    seen(host, lambda: host.leaves() == ["_trash"])


def test_foreign_datasets_in_the_trash_are_kept(host, volume):
    volume.create()
    take(volume)
    volume.delete()
    for leaf in ("a-1", "z-1"):
        run("zfs", "create", "-o", "canmount=noauto", host.dataset(f"_trash/{leaf}"))
    delete_snapshot(host, "data@s")
    foreign = ["_trash", "_trash/a-1", "_trash/z-1"]
    wait_for(lambda: host.leaves() == foreign, "the volume is reaped")
    host.read_again()
    assert host.leaves() == foreign


INHERITED = {
    "zcsi:version": "2", "zcsi:volume": "other", "zcsi:parameters": "zfs.atime=off",
    "zcsi:published": "n2:1:rw", "zcsi:source": "volume:other", "zcsi:deleted": "1",
    "zcsi:root": "1:1:0777", "zcsi:snapshot": "mine", "zcsi:size": "1", "zcsi:group": "mine",
}


@pytest.mark.parametrize("name", INHERITED)
def test_an_inherited_property_is_ignored(host, name):
    bare, data = Volume(host, "bare"), Volume(host, "data")
    for volume in (bare, data):
        volume.create()
    take(data)
    run("zfs", "snapshot", host.dataset("data") + "@by-hand")
    run("zfs", "create", "-o", "canmount=noauto", host.dataset("foreign"))
    host.read_again()
    before = str(host.controller.ListVolumes()), str(host.controller.ListSnapshots())
    run("zfs", "set", f"{name}={INHERITED[name]}", host.parent)
    assert get(host.dataset("foreign"), name) == INHERITED[name]
    host.read_again()
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
