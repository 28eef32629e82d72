# SPDX-License-Identifier: MPL-2.0
"""The deletion of a volume, or of a snapshot, as one atomic step in the kernel, which checks the
dataset's current state. zcsi-node gets no events of the changes that these tests make by hand."""
import os
import signal
import subprocess
from pathlib import Path

import grpc
import pytest

from client import refused
from crash.state import names
from daemon import wait_for
from host import get, run, Volume
from processes import during, verbs
from test_changes_by_hand import feeds
from zvols import zvol

OURS = ("-o", "zcsi:version=1", "-o", "zcsi:volume=data", "-o", "canmount=noauto")


@pytest.fixture
def unaware(host, volume):
    """A host whose daemon has read a volume and then gets no more events of its changes."""
    volume.create()
    wait_for(lambda: volume.record().guid, "it is read again")
    told = feeds(host)
    for process in told:
        os.kill(process, signal.SIGSTOP)
    yield host
    for process in told:
        os.kill(process, signal.SIGCONT)


@pytest.mark.parametrize("wanted", ["zfs", "block", "ext4"])
def test_a_deletion_is_one_process(host, wanted):
    made = Volume(host, "data") if wanted == "zfs" else zvol(host, "data", wanted)
    made.up()
    device = Path("/dev/zvol", host.dataset("data"))
    assert device.exists() == (wanted != "zfs")
    made.down()
    assert verbs(during(host.node_daemon, made.delete)) == ["zfs program"]
    assert host.leaves() == []
    wait_for(lambda: not device.is_symlink(), "its device is gone")


def make_again(dataset):
    run("zfs", "destroy", dataset)
    run("zfs", "create", *OURS, dataset)


BY_HAND = {
    "of another version": lambda dataset: run("zfs", "set", "zcsi:version=2", dataset),
    "of another volume": lambda dataset: run("zfs", "set", "zcsi:volume=other", dataset),
    "nobody's": lambda dataset: run("zfs", "inherit", "zcsi:volume", dataset),
    "published": lambda dataset: run("zfs", "set", "zcsi:published=n1:1:rw", dataset),
    "another one": make_again,
    "a parent": lambda dataset: run("zfs", "create", dataset + "/child"),
}


@pytest.mark.parametrize("change", BY_HAND.values(), ids=BY_HAND)
def test_a_dataset_changed_by_hand_is_not_destroyed(unaware, volume, change):
    change(unaware.dataset("data"))
    guid = get(unaware.dataset("data"), "guid")

    def delete():
        with refused(grpc.StatusCode.FAILED_PRECONDITION, naming="data"):
            volume.delete()
    assert verbs(during(unaware.node_daemon, delete)) == ["zfs program", "zfs get"]
    assert get(unaware.dataset("data"), "guid") == guid


def test_an_inherited_publication_does_not_prevent_the_deletion(unaware, volume):
    run("zfs", "set", "zcsi:published=n2:1:rw", unaware.parent)
    assert verbs(during(unaware.node_daemon, volume.delete)) == ["zfs program"]
    assert unaware.leaves() == []


def test_a_dataset_mounted_by_hand_is_not_destroyed(unaware, volume, tmp_path):
    subprocess.run(["mount", "-t", "zfs", unaware.dataset("data"), tmp_path], check=True)
    try:
        with refused(grpc.StatusCode.FAILED_PRECONDITION, naming=("data", str(tmp_path))):
            volume.delete()
    finally:
        subprocess.run(["umount", tmp_path], check=True)
    volume.delete()
    assert unaware.leaves() == []


@pytest.mark.parametrize("snapshot", [False, True], ids=["alone", "snapshot"])
def test_a_zvol_whose_device_is_open_is_not_deleted(host, snapshot):
    volume = zvol(host, "data", "block")
    volume.up().down()
    if snapshot:
        host.controller.CreateSnapshot(source_volume_id="data", name="s")
    device = f"/dev/zvol/{host.dataset('data')}"
    with open(device, "rb"):
        with refused(grpc.StatusCode.FAILED_PRECONDITION, naming=("data", f"(pid {os.getpid()})")):
            volume.delete()
        assert host.leaves() == ["data"]
    volume.delete()
    assert host.ids() == []


def test_a_dataset_with_a_snapshot_made_by_hand_goes_to_the_trash(unaware, volume):
    run("zfs", "snapshot", unaware.dataset("data") + "@by-hand")
    guid = get(unaware.dataset("data"), "guid")
    volume.delete()
    assert unaware.leaves() == ["_trash", f"_trash/data-{guid}"]


def test_a_volume_with_a_bookmark_is_deleted(host, volume):
    volume.create()
    host.controller.CreateSnapshot(source_volume_id="data", name="s")
    run("zfs", "bookmark", host.dataset("data") + "@s", host.dataset("data") + "#b")
    volume.delete()
    assert host.ids() == []


def test_a_deletion_of_a_snapshot_is_one_process(host, volume):
    volume.create()
    csi = host.controller
    made = csi.CreateSnapshot(source_volume_id="data", name="ü s").snapshot.snapshot_id
    group = csi.CreateVolumeGroupSnapshot(name="g", source_volume_ids=["data"]).group_snapshot
    steps = [lambda: csi.DeleteSnapshot(snapshot_id=made),
             lambda: csi.DeleteVolumeGroupSnapshot(
                 group_snapshot_id=group.group_snapshot_id,
                 snapshot_ids=[member.snapshot_id for member in group.snapshots])]
    for step in steps:
        assert verbs(during(host.node_daemon, step)) == ["zfs program"]
    assert names(host.parent) == ["data"]


def test_a_snapshot_of_a_deleted_volume_goes_with_the_volume(host, volume):
    volume.create()
    host.controller.CreateSnapshot(source_volume_id="data", name="s")
    volume.delete()
    assert verbs(during(host.node_daemon, lambda: host.controller.DeleteSnapshot(
        snapshot_id="data@s")))[:1] == ["zfs program"]
    wait_for(lambda: host.leaves() == ["_trash"], "the volume is destroyed")


def snapshot_again(snapshot):
    for verb in ("destroy", "snapshot"):
        run("zfs", verb, snapshot)


SNAPSHOT_BY_HAND = {
    "of another version": lambda snapshot: run("zfs", "set", "zcsi:version=2", snapshot),
    "of another name": lambda snapshot: run("zfs", "set", "zcsi:snapshot=t", snapshot),
    "of a group": lambda snapshot: run("zfs", "set", "zcsi:group=g", snapshot),
    "nobody's": lambda snapshot: run("zfs", "inherit", "zcsi:snapshot", snapshot),
    "another one": snapshot_again,
    "held": lambda snapshot: run("zfs", "hold", "backup", snapshot),
}


@pytest.mark.parametrize("change", SNAPSHOT_BY_HAND.values(), ids=SNAPSHOT_BY_HAND)
def test_a_snapshot_changed_by_hand_is_not_destroyed(unaware, change):
    csi, snapshot = unaware.controller, unaware.dataset("data") + "@s"
    csi.CreateSnapshot(source_volume_id="data", name="s")
    wait_for(lambda: unaware.agent.GetDatasetSnapshot(id="data@s").snapshot.guid, "it is read")
    change(snapshot)
    guid = get(snapshot, "guid")

    def delete():
        with refused(grpc.StatusCode.FAILED_PRECONDITION, naming="data@s"):
            csi.DeleteSnapshot(snapshot_id="data@s")
    assert verbs(during(unaware.node_daemon, delete))[:2] == ["zfs program", "zfs get"]
    assert get(snapshot, "guid") == guid
    if int(get(snapshot, "userrefs")):
        run("zfs", "release", "backup", snapshot)


def test_a_snapshot_with_a_clone_goes_with_the_clone(host, volume):
    volume.create()
    csi = host.controller
    csi.CreateSnapshot(source_volume_id="data", name="s")
    copy = Volume(host, "copy")
    copy.create(volume_content_source={"snapshot": {"snapshot_id": "data@s"}})
    csi.DeleteSnapshot(snapshot_id="data@s")
    assert not csi.ListSnapshots().entries and "data@s" in names(host.parent)
    copy.delete()
    assert names(host.parent) == ["data"]
