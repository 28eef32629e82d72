# SPDX-License-Identifier: MPL-2.0
"""Volumes that an administrator renames by hand while they are mounted. Their mounts are found and
unmounted. Mounts of other datasets at the same paths stay, and calls for these paths fail.

OpenZFS leaves the mounts, under the new name. zfs-fuse removes the mount at the staging path and
refuses the rename of a volume that is mounted at a target too."""
import os
import subprocess

import grpc
import pytest

from client import refused
from host import KERNEL_ZFS, run, Volume
from staged import points

CODE = grpc.StatusCode


def rename(host, old, new):
    """Rename a dataset, which stays mounted. zfs-fuse mounts it again, unless it was busy."""
    run("zfs", "rename", *(["-u"] if KERNEL_ZFS else []), old, new)
    if not sources(host):
        run("zfs", "mount", new)
    assert set(sources(host)) == {new}


def sources(host):
    with open("/proc/self/mountinfo", encoding="utf-8") as table:
        return [line.split(" - ")[1].split()[1] for line in table if f"{host.folder}/" in line]


@pytest.fixture
def staged(volume):
    volume.create()
    volume.stage()
    return volume


@pytest.mark.parametrize("away", ["{}/away", "{}-elsewhere"], ids=["in the parent", "out of it"])
def test_a_renamed_volume_is_unstaged(host, staged, away):
    away = away.format(host.parent)
    rename(host, host.dataset("data"), away)
    assert sources(host) == [away]
    staged.unstage()
    assert points(host) == []
    staged.unstage()
    run("zfs", "rename", away, host.dataset("data"))


def test_a_renamed_volume_is_unpublished(host, staged):
    if KERNEL_ZFS:
        staged.publish()
    rename(host, host.dataset("data"), host.dataset("away"))
    if not KERNEL_ZFS:
        os.mkdir(staged.target)
        run("mount", "--bind", "--make-private", staged.staging, staged.target)
    assert sources(host) == [host.dataset("away")] * 2
    staged.unpublish()
    assert points(host) == [staged.staging] and not os.path.lexists(staged.target)
    staged.unstage()
    assert points(host) == []


def test_a_new_volume_of_the_name_is_apart_from_the_renamed_one(host, staged):
    rename(host, host.dataset("data"), host.dataset("away"))
    host.read_again()
    staged.create()
    with refused(CODE.FAILED_PRECONDITION, naming=(host.dataset("away"), staged.staging)):
        staged.stage()
    staged.unstage()
    assert points(host) == []
    staged.stage()
    assert sources(host) == [host.dataset("data")]


def test_while_zfs_cannot_say_whose_mount_it_is_no_call_succeeds(gated, gate):
    volume = Volume(gated, "data")
    volume.create()
    volume.stage()
    rename(gated, gated.dataset("data"), gated.dataset("away"))
    before = gated.mounts()
    gate.hold("source,value")
    call = gated.node.NodeUnstageVolume.future(volume_id="data",
                                               staging_target_path=volume.staging)
    gate.arrived()
    gate.kill()
    assert call.code() == CODE.UNAVAILABLE and gated.mounts() == before
    gate.open()
    volume.unstage()
    assert points(gated) == []


def refuse_both(volume, path, words):
    """Check that neither NodeUnstageVolume nor NodeUnpublishVolume unmounts a path."""
    host = volume.host
    before = host.state()
    for call, field in ((host.node.NodeUnstageVolume, "staging_target_path"),
                        (host.node.NodeUnpublishVolume, "target_path")):
        with refused(CODE.FAILED_PRECONDITION, naming=(*words, f"umount {path}")):
            call(volume_id=volume.id, **{field: path})
    assert host.state() == before


def test_another_volume_is_not_unmounted(host, volume):
    other = Volume(host, "other")
    for each in (volume, other):
        each.create()
    other.stage()
    refuse_both(volume, other.staging, [host.dataset("other")])


def test_a_dataset_that_is_no_volume_is_not_unmounted(host, volume):
    volume.create()
    path, dataset = f"{host.folder}/mine", host.dataset("mine")
    run("zfs", "create", "-o", f"mountpoint={path}", dataset)
    refuse_both(volume, path, [dataset])
    run("zfs", "set", "mountpoint=none", dataset)


def test_a_directory_of_the_volume_is_not_unmounted(host, staged):
    """The mount of a directory has the source of the volume, and is neither staging nor target."""
    path = f"{host.folder}/part"
    os.makedirs(f"{staged.staging}/sub")
    os.mkdir(path)
    run("mount", "--bind", f"{staged.staging}/sub", path)
    refuse_both(staged, path, ["the directory '/sub'"])
    run("umount", path)


def test_a_foreign_mount_is_not_unmounted(host, volume):
    volume.create()
    os.mkdir(volume.staging)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "cover", volume.staging], check=True)
    refuse_both(volume, volume.staging, ["cover"])
    run("umount", volume.staging)
    volume.unstage()


def test_a_target_path_is_not_unstaged(host, staged):
    staged.publish()
    before = host.state()
    with refused(CODE.FAILED_PRECONDITION, naming=(staged.target, "NodeUnpublishVolume")):
        host.node.NodeUnstageVolume(volume_id="data", staging_target_path=staged.target)
    assert host.state() == before
