# SPDX-License-Identifier: MPL-2.0
"""Owner, group and mode of a volume's root directory, from CreateVolume and from staging."""
import grp
import os
from pathlib import Path

import grpc
import pytest

from client import capability, refused
from host import run, SIZE, Volume
from staged import used

CODE = grpc.StatusCode


def root_of(volume):
    status = os.stat(volume.staging)
    return status.st_uid, status.st_gid, oct(status.st_mode & 0o7777)


@pytest.fixture
def volume_with_root(new_host):
    """A function that creates a volume with this zcsi:root property and then starts its host."""
    def make(root):
        made = new_host()
        run("zfs", "create", "-o", "canmount=noauto", "-o", f"refquota={SIZE}",
            "-o", "mountpoint=legacy", "-o", "zcsi:version=1", "-o", "zcsi:volume=data",
            "-o", f"zcsi:root={root}", made.dataset("data"))
        return Volume(made.start(), "data")
    return make


@pytest.mark.parametrize("root, expected", [
    ("1000:1001:2750", (1000, 1001, "0o2750")), (":1001:", (0, 1001, "0o755")),
    ("1000::", (1000, 0, "0o755")), ("::0711", (0, 0, "0o711")), ("::", (0, 0, "0o755"))])
def test_the_creators_root_is_applied(volume_with_root, root, expected):
    volume = volume_with_root(root)
    volume.stage()
    assert root_of(volume) == expected


def test_a_created_volume_has_the_root_that_was_asked_for(volume):
    volume.create(parameters={"owner": "1000", "group": "1001", "mode": "0750"})
    volume.stage()
    assert root_of(volume) == (1000, 1001, "0o750")


def test_the_creators_root_is_applied_once(volume_with_root):
    volume = volume_with_root("1000:1001:0750")
    volume.stage()
    os.chown(volume.staging, 7, 8)
    os.chmod(volume.staging, 0o700)
    volume.unstage()
    volume.stage()
    assert root_of(volume) == (7, 8, "0o700")


def test_a_staging_killed_between_mode_and_owner_is_finished(volume_with_root):
    volume = volume_with_root("1000:1001:0750")
    volume.stage()
    os.chown(volume.staging, 0, 0)
    os.chmod(volume.staging, 0o750)
    volume.stage()
    assert root_of(volume) == (1000, 1001, "0o750")


def test_a_damaged_root_is_named(volume_with_root):
    volume = volume_with_root("1000:staff:9")
    with refused(CODE.FAILED_PRECONDITION, naming=["zcsi:root", "1000:staff:9"]):
        volume.stage()
    assert volume.host.mounts() == []


@pytest.mark.parametrize("mode", ["SINGLE_NODE_WRITER", "SINGLE_NODE_READER_ONLY"])
@pytest.mark.parametrize("group, gid", [("4321", 4321), ("daemon", grp.getgrnam("daemon").gr_gid)])
def test_the_mount_group_owns_the_root(volume, group, gid, mode):
    volume.create()
    volume.capability = capability(mode, volume_mount_group=group)
    volume.stage()
    assert root_of(volume) == (0, gid, "0o2775")


def test_the_mount_group_joins_the_creators_root(volume_with_root):
    volume = volume_with_root("1000:1001:0700")
    volume.capability = capability(volume_mount_group="4321")
    volume.stage()
    assert root_of(volume) == (1000, 4321, "0o2770")


def test_the_mount_group_changes_nothing_below_the_root_and_nothing_twice(volume):
    used(volume)
    Path(volume.target, "file").write_text("mine")
    os.chown(f"{volume.target}/file", 5, 6)
    os.chown(volume.target, 9, 4321)
    os.chmod(volume.target, 0o2777)
    changed = os.stat(volume.target).st_ctime_ns
    volume.capability = capability(volume_mount_group="4321")
    volume.stage()
    assert os.stat(volume.target).st_ctime_ns == changed
    assert os.stat(f"{volume.target}/file").st_gid == 6
    Path(volume.target, "new").write_text("inherits")
    assert os.stat(f"{volume.target}/new").st_gid == 4321


def test_an_unknown_mount_group_is_refused(volume):
    volume.create()
    volume.stage()
    unknown = capability(volume_mount_group="no-such-group")
    before = volume.host.state()
    for call in (volume.publish, lambda **fields: volume.host.node.NodeStageVolume(
            volume_id="data", staging_target_path=volume.staging + "-2", **fields)):
        with refused(CODE.INVALID_ARGUMENT, naming=["volume_mount_group", "no-such-group"]):
            call(volume_capability=unknown)
    assert volume.host.state() == before
