# SPDX-License-Identifier: MPL-2.0
"""Block volumes: their properties in ZFS, and the device that a workload gets."""
import os
import subprocess
from pathlib import Path

import grpc
import pytest

from client import capability, csi, MIB, refused, size_of
from daemon import wait_for
from host import get, run, Volume
from snapshots import clone, in_zfs, of_snapshot, of_volume, restore, take, trashed
from zvols import block, is_device, length, read, write, zvol

CODE = grpc.StatusCode
KIB = 1024


@pytest.fixture
def device(host):
    return zvol(host, "data", "block")


def number(path):
    return os.stat(path).st_rdev


# ---- properties in ZFS ----

def test_thin_and_thick_zvols_are_reserved_as_zfs_does(host, device):
    answer = device.create()
    thick = zvol(host, "thick", "block")
    thick.create(parameters={"provisioning": "thick", "zfs.volblocksize": "32K",
                             "zfs.compression": "lz4"})
    run("zfs", "create", "-V", str(32 * MIB), "-o", "volblocksize=32K", host.dataset("hand"))
    assert answer.volume.capacity_bytes == 32 * MIB
    for leaf, reserved in (("data", "0"), ("thick", get(host.dataset("hand"), "refreservation"))):
        dataset = host.dataset(leaf)
        assert get(dataset, "type") == "volume" and get(dataset, "zcsi:format") == "block"
        assert get(dataset, "volsize") == str(32 * MIB)
        assert get(dataset, "refreservation") == reserved
    assert get(host.dataset("thick"), "volblocksize") == str(32 * KIB)
    assert get(host.dataset("thick"), "compression") == "lz4"
    assert host.ids() == ["data", "thick"]


def test_size_is_rounded_up_and_returned(host, device):
    device.size = 5 * MIB + 1
    assert device.create().volume.capacity_bytes == 5 * MIB + 128 * KIB
    assert get(host.dataset("data"), "volsize") == str(5 * MIB + 128 * KIB)
    assert device.create().volume.capacity_bytes == 5 * MIB + 128 * KIB
    with refused(CODE.OUT_OF_RANGE, naming="limit_bytes"):
        zvol(host, "odd", "block").create(capacity_range=size_of(5 * MIB + 1, 5 * MIB + 2))
    assert host.ids() == ["data"]


def test_a_thick_zvol_without_room_is_not_created(host, device):
    with refused(CODE.RESOURCE_EXHAUSTED, naming="'data'"):
        device.create(capacity_range=size_of(1 << 40), parameters={"provisioning": "thick"})
    assert host.ids() == [] and host.leaves() == []


def test_a_zvol_grows_and_never_shrinks(host, device):
    device.create(parameters={"provisioning": "thick"})
    before = int(get(host.dataset("data"), "refreservation"))
    answer = device.expand(64 * MIB)
    assert answer.capacity_bytes == 64 * MIB and not answer.node_expansion_required
    assert int(get(host.dataset("data"), "refreservation")) > before + 31 * MIB
    assert device.expand(40 * MIB).capacity_bytes == 64 * MIB
    with refused(CODE.RESOURCE_EXHAUSTED):
        device.expand(1 << 40)
    assert get(host.dataset("data"), "volsize") == str(64 * MIB)


def test_an_expansion_does_not_undo_one_by_hand(host, gate, new_host):
    """The agent reads the current size from ZFS before it sets a new one."""
    device = zvol(new_host(env=gate.env, node_args=("--rescan", "3600")).start(), "data", "block")
    device.create()
    dataset = device.host.dataset("data")
    gate.hold("get")
    waiting = device.host.controller.ControllerExpandVolume.future(
        volume_id="data", capacity_range=size_of(64 * MIB))
    gate.arrived()
    run("zfs", "set", f"volsize={128 * MIB}", dataset)
    gate.open()
    assert waiting.result().capacity_bytes == 128 * MIB
    assert get(dataset, "volsize") == str(128 * MIB)


def test_a_block_volume_is_refused_as_another_format(host, device):
    device.create()
    before = host.state()
    for other in (capability(), capability(fs_type="ext4"), capability(fs_type="zfs")):
        with refused(CODE.ALREADY_EXISTS, naming="a block device"):
            device.create(volume_capabilities=[other])
        answer = host.controller.ValidateVolumeCapabilities(volume_id="data",
                                                            volume_capabilities=[other])
        assert not answer.HasField("confirmed") and "a block device" in answer.message
        with refused(CODE.INVALID_ARGUMENT, naming="a block device"):
            device.attach(volume_capability=other)
        with refused(CODE.INVALID_ARGUMENT, naming="a block device"):
            host.controller.ControllerExpandVolume(
                volume_id="data", capacity_range=size_of(64 * MIB), volume_capability=other)
    with refused(CODE.INVALID_ARGUMENT, naming="zfs.atime"):
        host.controller.ControllerModifyVolume(volume_id="data",
                                               mutable_parameters={"zfs.atime": "off"})
    host.controller.ControllerModifyVolume(volume_id="data",
                                           mutable_parameters={"zfs.compression": "off"})
    assert host.state() == before
    assert host.controller.ValidateVolumeCapabilities(
        volume_id="data", volume_capabilities=[device.capability]).HasField("confirmed")


# ---- the device on the node ----

def test_a_workload_has_the_device(host, device):
    device.up()
    assert is_device(device.target) and length(device.target) == 32 * MIB
    write(device.target, b"kept", offset=31 * MIB)
    usage = host.node.NodeGetVolumeStats(volume_id="data", volume_path=device.target).usage
    assert [(row.unit, row.total) for row in usage] == [(csi.VolumeUsage.BYTES, 32 * MIB)]
    device.stage()
    device.publish()
    device.expand(64 * MIB)
    assert length(device.target) == 64 * MIB
    answer = host.node.NodeExpandVolume(volume_id="data", volume_path=device.target,
                                        volume_capability=device.capability)
    assert answer.capacity_bytes == 64 * MIB
    with refused(CODE.FAILED_PRECONDITION, naming=device.target):
        device.unstage()
    device.detach()
    with refused(CODE.FAILED_PRECONDITION, naming="mounted"):
        device.delete()
    device.unpublish()
    device.unpublish()
    assert not os.path.lexists(device.target)
    device.unstage()
    device.attach()
    device.stage()
    device.publish()
    assert read(device.target, 4, offset=31 * MIB) == b"kept"
    device.down()
    assert host.mounts() == []
    device.delete()
    assert host.leaves() == []


def test_a_device_in_use_is_not_unpublished(host, device):
    device.up()
    with open(device.target, "rb"):
        with refused(CODE.FAILED_PRECONDITION, naming=(device.target, f"pid {os.getpid()}")):
            device.unpublish()
    device.down()


def test_a_file_with_contents_is_not_a_target(host, device):
    device.create()
    device.stage()
    Path(device.target).write_text("mine")
    with refused(CODE.FAILED_PRECONDITION, naming=device.target):
        device.publish()
    with refused(CODE.INVALID_ARGUMENT, naming=device.target):
        device.unpublish()
    assert Path(device.target).read_text() == "mine"
    os.unlink(device.target)
    os.mkdir(device.target)
    with refused(CODE.INVALID_ARGUMENT, naming=device.target):
        device.publish()
    os.rmdir(device.target)
    Path(device.target).touch()
    device.publish()
    assert is_device(device.target)


def test_a_read_only_publish_makes_the_device_read_only(host, device):
    device.capability = block("SINGLE_NODE_MULTI_WRITER")
    device.create()
    device.stage()
    device.publish(readonly=True)
    with pytest.raises(OSError, match="Operation not permitted"):
        write(device.target, b"refused")
    other = device.target + "-2"
    with refused(CODE.FAILED_PRECONDITION, naming=device.target):
        device.publish(target=other)
    assert not os.path.lexists(other)
    device.publish(target=other, readonly=True)
    device.unpublish(other)
    with refused(CODE.ALREADY_EXISTS, naming="readonly"):
        device.publish()
    device.unpublish()
    device.publish()
    write(device.target, b"allowed")
    with refused(CODE.FAILED_PRECONDITION, naming=device.target):
        device.publish(target=other, readonly=True)
    write(device.target, b"allowed")


def test_a_second_staging_works_after_a_restart(host, device):
    device.capability = block("SINGLE_NODE_MULTI_WRITER")
    device.up()
    host.node_daemon.kill()
    host.restart(host.node_daemon)
    other = Volume(host, "data")
    other.capability = device.capability
    other.stage()
    other.publish()
    assert number(other.target) == number(device.target)
    other.unpublish()
    other.unstage()
    write(device.target, b"still there")
    device.down()
    assert host.mounts() == []


@pytest.mark.parametrize("wanted", ["block", "ext4"])
def test_a_zvol_that_was_renamed_by_hand_is_unmounted(host, wanted):
    volume = zvol(host, "data", wanted).up()
    run("zfs", "rename", host.dataset("data"), host.dataset("away"))
    wait_for(lambda: host.ids() == [], "the rename is seen")
    volume.unpublish()
    volume.unstage()
    assert host.mounts() == []


@pytest.mark.parametrize("wanted", ["block", "ext4"])
def test_a_new_zvol_of_a_name_is_apart_from_the_renamed_one(host, wanted):
    old, new = (zvol(host, "data", wanted) for _ in range(2))
    old.up()
    run("zfs", "rename", host.dataset("data"), host.dataset("away"))
    wait_for(lambda: host.ids() == [], "the rename is seen")
    new.create()
    for each in (new, old):
        with refused(CODE.FAILED_PRECONDITION, naming=(old.staging, "device")):
            each.stage()
    old.unpublish()
    old.unstage()
    new.stage()
    new.publish()
    new.down()
    assert host.mounts() == []


def test_stage_waits_for_the_name_of_the_device(host, device):
    """The call waits for the device's name in /dev and checks that it belongs to this zvol."""
    device.create()
    link = f"/dev/zvol/{host.dataset('data')}"
    other = zvol(host, "other", "block")
    other.create()
    for each in (link, f"/dev/zvol/{host.dataset('other')}"):
        wait_for(lambda path=each: os.path.exists(path), f"{each} appears")
    right, wrong = os.readlink(link), os.readlink(f"/dev/zvol/{host.dataset('other')}")
    subprocess.run(["udevadm", "control", "--stop-exec-queue"], check=True)
    try:
        os.unlink(link)
        os.symlink(wrong, link)
        os.makedirs(device.staging)
        waiting = host.node.NodeStageVolume.future(
            volume_id="data", staging_target_path=device.staging,
            volume_capability=device.capability)
        with pytest.raises(grpc.FutureTimeoutError):
            waiting.result(timeout=1)
        os.symlink(right, link + "-new")
        os.rename(link + "-new", link)
        waiting.result()
    finally:
        subprocess.run(["udevadm", "control", "--start-exec-queue"], check=True)
    device.publish()
    assert number(device.target) == number(link)


def test_a_missing_device_is_an_error_within_the_deadline(host, device):
    """The kernel creates and removes devices some time after the zfs command has ended."""
    device.create()
    link = f"/dev/zvol/{host.dataset('data')}"
    wait_for(lambda: os.path.exists(link), "the device appears")
    run("zfs", "set", "volmode=none", host.dataset("data"))
    wait_for(lambda: not os.path.lexists(link), "the device has gone")
    with refused(CODE.UNAVAILABLE, CODE.DEADLINE_EXCEEDED, naming="volmode"):
        os.makedirs(device.staging)
        host.node.NodeStageVolume(
            volume_id="data", staging_target_path=device.staging, timeout=1,
            volume_capability=device.capability)
    assert host.mounts() == []


# ---- snapshots, clones, the trash ----

def test_snapshots_and_clones_are_devices(host, device):
    device.create()
    device.stage()
    device.publish()
    write(device.target, b"then")
    snapshot = take(device)
    assert snapshot.size_bytes == 32 * MIB
    write(device.target, b"now.")
    device.expand(64 * MIB)
    for made, text, size in (
            (lambda: restore(host, snapshot.snapshot_id, "old", capacity_range=size_of(48 * MIB),
                             volume_capabilities=[block()]), b"then", 48 * MIB),
            (lambda: clone(device, "new", capacity_range=size_of(96 * MIB),
                           volume_capabilities=[block()],
                           parameters={"provisioning": "thick"}), b"now.", 96 * MIB)):
        copy = made()
        copy.capability = block()
        copy.stage()
        copy.publish()
        assert read(copy.target, 4) == text and length(copy.target) == size
        assert get(host.dataset(copy.id), "volsize") == str(size)
    assert int(get(host.dataset("new"), "refreservation")) > 96 * MIB
    for source in (of_snapshot(snapshot.snapshot_id), of_volume("data")):
        with refused(CODE.INVALID_ARGUMENT, naming="the format of its source"):
            zvol(host, "wrong", "ext4").create(**source)
        with refused(CODE.OUT_OF_RANGE):
            zvol(host, "small", "block", 16 * MIB).create(**source)


def test_group_snapshots_outlive_a_deleted_volume(host, device):
    device.create()
    other = Volume(host, "files")
    other.create()
    group = host.controller.CreateVolumeGroupSnapshot(
        name="g", source_volume_ids=["data", "files"]).group_snapshot
    assert len(group.snapshots) == 2
    device.delete()
    assert host.ids() == ["files"] and len(trashed(host)) == 1
    copy = restore(host, "data@g_g", "copy", volume_capabilities=[block()],
                   capacity_range=size_of(32 * MIB))
    host.controller.DeleteVolumeGroupSnapshot(
        group_snapshot_id=group.group_snapshot_id,
        snapshot_ids=[row.snapshot_id for row in group.snapshots])
    copy.delete()
    other.delete()
    wait_for(lambda: host.leaves() in ([], ["_trash"]), "the trash is reaped")
    assert in_zfs(host) == []
