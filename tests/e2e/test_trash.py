# SPDX-License-Identifier: MPL-2.0
"""Deleted volumes that have dependents or are kept for a while: they are in the trash, usable by
their snapshots, restored by one rename, and destroyed when nothing depends on them."""
import shutil
import signal
import time
from pathlib import Path

import grpc
import pytest

from client import refused
from daemon import wait_for
from host import get, run, SIZE, Volume
from snapshots import clone, drop, in_zfs, listed, restore, take, trashed

CODE = grpc.StatusCode
LONG = 100000


@pytest.fixture
def keeping(new_host):
    """A host that keeps deleted volumes for more than a day."""
    return new_host(node_args=["--trash-ttl", LONG]).start()


@pytest.fixture
def deleted(host, volume):
    """A deleted volume whose snapshot s still exists."""
    volume.create()
    take(volume)
    volume.delete()
    return volume


def reaped(host):
    wait_for(lambda: not trashed(host), "the trash is reaped")


def age(host, name, seconds):
    """Set the time of deletion to that many seconds ago."""
    run("zfs", "set", f"zcsi:deleted={int(time.time()) - seconds}", host.dataset(name))


def undelete(host, leaf, name):
    run("zfs", "rename", host.dataset(f"_trash/{leaf}"), host.dataset(name))
    run("zfs", "inherit", "zcsi:deleted", host.dataset(name))
    host.rescan(lambda: name in host.ids())


def test_a_volume_that_nothing_depends_on_is_destroyed(host, volume):
    volume.create()
    volume.delete()
    assert host.leaves() == []


def test_a_deleted_volume_is_gone_for_csi(host, deleted):
    assert host.ids() == []
    for call in (deleted.attach, lambda: deleted.expand(2 * SIZE), lambda: take(deleted, "t"),
                 lambda: host.controller.ControllerGetVolume(volume_id="data"), deleted.stage,
                 lambda: clone(deleted)):
        with refused(CODE.NOT_FOUND, naming="data"):
            call()
    deleted.delete()
    deleted.detach()


def test_the_time_of_a_rollback_that_was_not_carried_out_keeps_no_volume(host, volume):
    """A rollback or detach sets the time on the volume before it renames it."""
    volume.create()
    snapshot = take(volume)
    run("zfs", "set", f"zcsi:deleted={int(time.time())}+2592000", host.dataset("data"))
    volume.delete()
    drop(host, snapshot.snapshot_id)
    reaped(host)


def test_the_trash_is_not_mounted_and_keeps_the_id(host, deleted):
    leaf, = trashed(host)
    assert leaf == f"data-{get(host.dataset(f'_trash/{leaf}'), 'guid')}"
    assert get(host.dataset(f"_trash/{leaf}"), "zcsi:volume") == "data"
    assert get(host.dataset("_trash"), "canmount") == "off"
    assert get(host.dataset("_trash"), "mountpoint") == "none"


def test_snapshots_of_a_deleted_volume_are_listed_and_restored(host, deleted):
    assert listed(host) == listed(host, source_volume_id="data") == ["data@s"]
    snapshot = host.controller.GetSnapshot(snapshot_id="data@s").snapshot
    assert (snapshot.source_volume_id, snapshot.size_bytes) == ("data", SIZE)
    restore(host, "data@s").delete()


def test_a_deleted_volume_can_be_restored_under_its_own_name(host, deleted):
    again = restore(host, "data@s", "data")
    assert host.ids() == ["data"] and len(trashed(host)) == 1
    again.delete()


def test_the_trash_is_the_same_after_a_restart(host, deleted):
    host.node_daemon.kill()
    host.restart(host.node_daemon)
    assert host.ids() == [] and listed(host) == ["data@s"] and len(trashed(host)) == 1
    restore(host, "data@s")


def test_a_deleted_volume_is_reaped_with_its_last_snapshot(host, volume):
    volume.create()
    for name in ("a", "b"):
        take(volume, name)
    volume.delete()
    drop(host, "data@a")
    assert len(trashed(host)) == 1 and listed(host) == ["data@b"]
    drop(host, "data@b")
    reaped(host)
    assert host.leaves() == ["_trash"] and in_zfs(host) == []


def test_a_deleted_volume_with_a_clone_is_not_reaped(host, deleted):
    copy = restore(host, "data@s")
    drop(host, "data@s")
    host.rescan(lambda: listed(host) == [])
    assert len(trashed(host)) == 1
    copy.delete()
    host.node_daemon.signal(signal.SIGHUP)
    reaped(host)


def test_volumes_of_one_name_can_be_deleted_repeatedly(host, volume):
    for name in ("a", "b", "c"):
        volume.create()
        take(volume, name)
        volume.delete()
    assert len(trashed(host)) == 3 and listed(host) == ["data@a", "data@b", "data@c"]
    for name in ("b", "a", "c"):
        drop(host, f"data@{name}")
    reaped(host)


@pytest.mark.parametrize("name", ["ü" * 64, "v" * 128], ids=["escaped", "plain"])
def test_the_longest_name_fits_into_the_trash(host, name):
    volume = Volume(host, name)
    volume.create()
    snapshot = take(volume, "x" * 128).snapshot_id
    volume.delete()
    host.node_daemon.kill()
    host.restart(host.node_daemon)
    assert listed(host) == [snapshot] and len(trashed(host)) == 1
    restore(host, snapshot).delete()
    drop(host, snapshot)
    reaped(host)


def test_a_volume_called_like_the_trash_is_a_volume(host, deleted):
    volume = Volume(host, "_trash")
    volume.create()
    assert host.ids() == ["_trash"] and len(trashed(host)) == 1
    volume.delete()
    assert host.ids() == [] and listed(host) == ["data@s"]


def test_with_a_ttl_every_deleted_volume_is_kept(keeping):
    volume = Volume(keeping, "data")
    volume.create()
    before = int(time.time())
    volume.delete()
    leaf, = trashed(keeping)
    assert before <= int(get(keeping.dataset(f"_trash/{leaf}"), "zcsi:deleted")) <= time.time()
    assert keeping.ids() == []
    volume.create()
    assert keeping.ids() == ["data"] and trashed(keeping) == [leaf]


@pytest.fixture
def thick(keeping):
    """A thick volume, and room for no other one."""
    keeping.limit(3 * SIZE // 2)
    made = Volume(keeping, "data")
    made.create(parameters={"provisioning": "thick"})
    return made


def reservation(host, leaf):
    return get(host.dataset(f"_trash/{leaf}"), "refreservation")


def test_a_deleted_volume_reserves_no_space(keeping, thick):
    with refused(CODE.RESOURCE_EXHAUSTED, naming="next"):
        Volume(keeping, "next").create(parameters={"provisioning": "thick"})
    thick.delete()
    leaf, = trashed(keeping)
    assert reservation(keeping, leaf) == "0"
    Volume(keeping, "next").create(parameters={"provisioning": "thick"})


def test_a_reservation_that_was_left_in_the_trash_is_given_up(keeping, thick):
    """zcsi-node may be killed between the rename into the trash and the end of the reservation."""
    thick.delete()
    leaf, = trashed(keeping)
    run("zfs", "set", f"refreservation={SIZE}", keeping.dataset(f"_trash/{leaf}"))
    keeping.rescan(lambda: reservation(keeping, leaf) == "0")


def test_a_volume_is_destroyed_after_its_ttl(keeping):
    for name in ("new", "old"):
        Volume(keeping, name).create()
        Volume(keeping, name).delete()
    new, old = trashed(keeping)
    age(keeping, f"_trash/{old}", LONG + 1)
    age(keeping, f"_trash/{new}", LONG - 1000)
    keeping.rescan(lambda: trashed(keeping) == [new])


def record(host, leaf, deleted):
    run("zfs", "set", f"zcsi:deleted={deleted}", host.dataset(f"_trash/{leaf}"))


def test_a_volume_may_be_kept_for_longer_than_the_ttl(keeping):
    """A number after + in zcsi:deleted replaces the ttl. SettleDataset sets it to 30 days."""
    for name in ("longer", "old"):
        Volume(keeping, name).create()
        Volume(keeping, name).delete()
    longer, old = trashed(keeping)
    record(keeping, longer, f"{int(time.time()) - 2 * LONG}+{3 * LONG}")
    record(keeping, old, f"{int(time.time()) - 2 * LONG}+{LONG}")
    keeping.rescan(lambda: trashed(keeping) == [longer])


FUTURE = 1 << 33


def test_a_deletion_in_the_future_counts_as_now(new_host):
    """The clock of the host was ahead when the volume was deleted; its ttl starts now."""
    host = new_host(node_args=["--trash-ttl", 1, "--rescan", 1]).start()
    volume = Volume(host, "data")
    volume.create()
    take(volume)
    volume.delete()
    record(host, *trashed(host), FUTURE)
    drop(host, "data@s")
    reaped(host)


@pytest.mark.parametrize("deleted", [FUTURE, (1 << 64) - 1, f"{FUTURE}+1"])
def test_a_deletion_in_the_future_is_kept_for_its_time(keeping, deleted):
    """The clock of the host may be behind now, and the date may be right, so the volume is kept."""
    Volume(keeping, "data").create()
    Volume(keeping, "data").delete()
    leaf, = trashed(keeping)
    record(keeping, leaf, deleted)
    keeping.read_again()
    assert trashed(keeping) == [leaf]


def test_the_timer_destroys_a_volume_after_its_ttl(new_host):
    host = new_host(node_args=["--trash-ttl", 1, "--rescan", 1]).start()
    volume = Volume(host, "data")
    volume.create()
    volume.delete()
    reaped(host)


def test_a_volume_with_snapshots_is_kept_after_its_ttl(keeping):
    volume = Volume(keeping, "data")
    volume.create()
    take(volume)
    volume.delete()
    leaf, = trashed(keeping)
    age(keeping, f"_trash/{leaf}", 2 * LONG)
    keeping.read_again()
    assert listed(keeping) == ["data@s"] and trashed(keeping) == [leaf]
    drop(keeping, "data@s")
    reaped(keeping)


def test_the_variable_is_the_option(new_host):
    host = new_host(env={"ZCSI_TRASH_TTL": str(LONG)}).start()
    Volume(host, "data").create()
    Volume(host, "data").delete()
    assert len(trashed(host)) == 1


def test_undelete_is_a_rename_and_an_inherit(keeping):
    volume = Volume(keeping, "data").up()
    with open(f"{volume.target}/file", "w", encoding="ascii") as file:
        file.write("back")
    take(volume)
    volume.down().delete()
    undelete(keeping, *trashed(keeping), "data")
    assert listed(keeping) == ["data@s"] and take(volume).snapshot_id == "data@s"
    volume.up()
    assert open(f"{volume.target}/file", encoding="ascii").read() == "back"
    volume.down().delete()


def test_a_volume_that_was_undeleted_is_not_reaped(keeping):
    volume = Volume(keeping, "data")
    volume.create()
    volume.delete()
    leaf, = trashed(keeping)
    run("zfs", "rename", keeping.dataset(f"_trash/{leaf}"), keeping.dataset("data"))
    age(keeping, "data", 2 * LONG)
    keeping.read_again()
    assert keeping.ids() == ["data"]
    run("zfs", "inherit", "zcsi:deleted", keeping.dataset("data"))
    keeping.read_again()
    assert keeping.leaves() == ["_trash", "data"] and keeping.ids() == ["data"]


def test_a_published_volume_does_not_go_to_the_trash(keeping):
    volume = Volume(keeping, "data")
    volume.create()
    volume.attach()
    with refused(CODE.FAILED_PRECONDITION, naming=("data", "n1")):
        volume.delete()
    assert keeping.leaves() == ["data"] and get(keeping.dataset("data"), "zcsi:deleted") == "-"


def test_a_mounted_volume_with_a_snapshot_does_not_go_to_the_trash(host, volume):
    volume.up()
    take(volume)
    volume.detach()
    with refused(CODE.FAILED_PRECONDITION, naming="data"):
        volume.delete()
    assert host.leaves() == ["data"] and in_zfs(host) == ["data@s"]
    volume.down().delete()
    assert len(trashed(host)) == 1


@pytest.mark.parametrize("ttl", ["-1", "soon", "315360001", ""])
def test_a_ttl_that_is_none_is_refused(new_host, ttl):
    host = new_host(node_args=["--trash-ttl", ttl])
    host.node_daemon.spawn()
    assert host.node_daemon.wait() != 0
    assert "trash-ttl" in host.node_daemon.text()
    host.node_daemon.log_path.unlink()


def test_an_origin_that_no_clone_needs_is_reaped(host, volume):
    volume.create()
    clone(volume)
    run("zfs", "snapshot", host.dataset("data@_clone-crashed"))
    run("zfs", "snapshot", host.dataset("data@_hidden"))
    host.rescan(lambda: "data@_clone-crashed" not in in_zfs(host))
    assert in_zfs(host) == ["data@_clone-copy", "data@_hidden"] and listed(host) == []


def test_a_deletion_cut_short_before_the_rename_is_finished_by_the_repeat(keeping):
    volume = Volume(keeping, "data")
    volume.create()
    run("zfs", "set", "zcsi:deleted=1", keeping.dataset("data"))
    keeping.read_again()
    assert keeping.leaves() == ["data"]
    before = int(time.time())
    volume.delete()
    leaf, = trashed(keeping)
    assert int(get(keeping.dataset(f"_trash/{leaf}"), "zcsi:deleted")) >= before
    assert keeping.ids() == []


FAILS_AFTER_RENAME = """#!/bin/sh
{zfs} "$@" || exit
[ "$1" != rename ] || {{ echo "cannot mount '$3': dataset is busy" >&2; exit 1; }}
"""


def test_the_snapshots_stay_known_if_zfs_fails_after_it_has_renamed(new_host):
    """`zfs rename` fails if it cannot mount a dependent again, although the dataset is renamed."""
    host = new_host(node_args=("--rescan", "3600"))
    folder = Path(host.folder, "bin")
    folder.mkdir()
    host.node_daemon.env["PATH"] = f"{folder}:{host.node_daemon.env['PATH']}"
    volume = Volume(host.start(), "data")
    volume.create()
    snapshot = take(volume).snapshot_id
    script = folder / "zfs"
    script.write_text(FAILS_AFTER_RENAME.format(zfs=shutil.which("zfs")))
    script.chmod(0o755)
    volume.delete()
    assert len(trashed(host)) == 1 and host.ids() == []
    assert listed(host) == [snapshot]
    drop(host, snapshot)
    assert in_zfs(host) == []
