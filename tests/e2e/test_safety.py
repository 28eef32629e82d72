# SPDX-License-Identifier: MPL-2.0
"""Datasets of other tools, and datasets in use or with dependents, are not touched; no volume ever
shrinks."""
import grpc
import pytest

from client import refused
from daemon import wait_for
from host import get, KERNEL_ZFS, run, SIZE, Volume

CODE = grpc.StatusCode
OURS = {"zcsi:version": "1", "zcsi:volume": "data"}


def test_an_attached_volume_is_not_deleted(host, volume):
    volume.create()
    volume.attach()
    with refused(CODE.FAILED_PRECONDITION, naming=("data", "n1")):
        volume.delete()
    assert host.leaves() == ["data"]


def test_a_mounted_volume_is_not_deleted(host, volume):
    volume.up()
    volume.detach()
    with refused(CODE.FAILED_PRECONDITION, naming="data"):
        volume.delete()
    with refused(CODE.FAILED_PRECONDITION, naming="data"):
        host.agent.DestroyDataset(id="data")
    assert host.leaves() == ["data"] and len(host.mounts()) == 2
    volume.down().delete()


def test_a_volume_with_a_snapshot_is_deleted_and_not_destroyed(host, volume):
    volume.create()
    run("zfs", "snapshot", host.dataset("data") + "@kept")
    guid = get(host.dataset("data"), "guid")
    volume.delete()
    assert host.ids() == [] and host.leaves() == ["_trash", f"_trash/data-{guid}"]
    trashed = host.dataset(f"_trash/data-{guid}")
    assert get(trashed + "@kept", "type") == "snapshot" and get(trashed, "guid") == guid
    run("zfs", "destroy", trashed + "@kept")
    host.rescan(lambda: host.leaves() == ["_trash"])


FOREIGN = {
    "plain": {},
    "of another name": {"zcsi:version": "1", "zcsi:volume": "other"},
    "of another tool": {"democratic-csi:csi_volume_name": "data"},
}


@pytest.mark.parametrize("properties", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("seen", [False, True], ids=["unseen", "seen"])
def test_a_foreign_dataset_is_not_touched(host, volume, by_hand, properties, seen):
    by_hand("data", properties)
    if seen:
        host.read_again()
    assert "data" not in host.ids()
    with refused(CODE.ALREADY_EXISTS, naming="data"):
        volume.create()
    volume.delete()
    assert host.leaves() == ["data"] and get(host.dataset("data"), "refquota") == "0"


def test_an_inherited_property_makes_no_volume(host, volume, by_hand):
    run("zfs", "set", "zcsi:volume=data", host.parent)
    run("zfs", "set", "zcsi:version=1", host.parent)
    by_hand("data", {})
    host.read_again()
    assert host.ids() == []
    with refused(CODE.ALREADY_EXISTS, naming="data"):
        volume.create()
    volume.delete()
    assert host.leaves() == ["data"]


def test_children_of_a_volume_are_not_deleted(host, volume, by_hand):
    volume.create()
    by_hand("data/child", {})
    with refused(CODE.FAILED_PRECONDITION, naming="data"):
        volume.delete()
    assert host.leaves() == ["data", "data/child"]


def test_expand_never_shrinks(host, volume):
    volume.create()
    assert volume.expand(SIZE // 2).capacity_bytes == SIZE
    assert host.agent.ResizeDataset(id="data", size=1).dataset.size == SIZE
    assert get(host.dataset("data"), "refquota") == str(SIZE)


def test_a_dataset_made_by_hand_with_our_properties_is_ours(host, volume, by_hand):
    by_hand("data", {**OURS, "refquota": str(SIZE)})
    host.rescan(lambda: host.ids() == ["data"])
    volume.delete()
    assert host.leaves() == []


def test_a_dataset_destroyed_by_hand_is_gone(host, volume):
    volume.create()
    run("zfs", "destroy", host.dataset("data"))
    host.rescan(lambda: host.ids() == [])
    volume.create()
    assert host.leaves() == ["data"]


def test_a_volume_destroyed_by_hand_and_not_noticed_is_still_deleted(host, volume):
    volume.create()
    run("zfs", "destroy", host.dataset("data"))
    volume.delete()
    assert host.ids() == []


def test_a_size_set_by_hand_is_seen(host, volume):
    volume.create()
    run("zfs", "set", f"refquota={4 * SIZE}", host.dataset("data"))
    host.rescan(lambda: volume.record().size == 4 * SIZE)
    assert volume.expand(2 * SIZE).capacity_bytes == 4 * SIZE


def test_a_volume_made_again_by_hand_is_not_the_one_that_was_deleted(host, volume, by_hand):
    volume.create()
    run("zfs", "destroy", host.dataset("data"))
    by_hand("data", {})
    if KERNEL_ZFS:  # an event reports the end of the volume; deleting it again succeeds
        wait_for(lambda: host.ids() == [], "the volume is seen to be gone")
        volume.delete()
    else:
        with refused(CODE.FAILED_PRECONDITION, CODE.ALREADY_EXISTS, CODE.ABORTED, naming="data"):
            volume.delete()
    assert host.leaves() == ["data"]
