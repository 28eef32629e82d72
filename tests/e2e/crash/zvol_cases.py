# SPDX-License-Identifier: MPL-2.0
"""The same of volumes on zvols, which zfs-fuse does not have: a device, and ext4 on one."""
from client import capability, MIB
from crash.cases import ATTACH, delete_copy, DESTROY, stage
from crash.trial import Case
from host import Volume

EXT4 = capability(fs_type="ext4")
BLOCK = capability()
BLOCK.block.SetInParent()
KEY = "0f" * 32


def create(volume, wanted, **parameters):
    volume.capability, volume.size = wanted, 16 * MIB
    return volume.create(parameters=parameters)


def create_block(volume):
    return create(volume, BLOCK)


def create_thick(volume):
    return create(volume, BLOCK, provisioning="thick")


def create_ext4(volume):
    return create(volume, EXT4)


def create_owned(volume):
    return create(volume, EXT4, owner="1000", group="1001", mode="0770")


def create_encrypted(volume):
    volume.secrets = {"encryption_key": KEY}
    return create(volume, EXT4, **{"zfs.encryption": "on"})


def unmount(volume):
    """What is staged was once formatted, and has data."""
    stage(volume)
    volume.unstage()


def clone_ext4(volume):
    return Volume(volume.host, "copy", 16 * MIB).create(
        volume_capabilities=[EXT4], volume_content_source={"volume": {"volume_id": "data"}})


def stage_copy(volume):
    copy = Volume(volume.host, "copy")
    copy.capability, copy.staging = EXT4, volume.staging
    return stage(copy)


def expand(volume):
    return volume.expand(32 * MIB)


def node_expand(volume):
    return volume.host.node.NodeExpandVolume(volume_id=volume.id, volume_path=volume.target)


PLACE = ["fsopen", "fsmount", "mount_setattr", "mount_setattr", "move_mount"]
STAGE_BLOCK = ["mkdir", "fsopen", "fsmount", "mknodat", *PLACE[2:]]
FORMAT = ["mkfs.ext4 -q", "zfs set"]
RENEW = ["fsopen", "fsmount", "e2fsck -f", "tune2fs -U", "zfs set"]
KEPT = ["copy", "data", "data@_clone-copy"]

ZVOLS = {
    "create a device": Case([], create_block, ["zfs create"], ["data"]),
    "create a thick device": Case([], create_thick, ["zfs create"], ["data"]),
    "stage a device": Case([create_block], stage, STAGE_BLOCK, ["data"]),
    "publish a device": Case([create_block, stage], Volume.publish, ATTACH, ["data"]),
    "expand a device": Case([create_block], expand, ["zfs get", "zfs set"], ["data"]),
    "unpublish a device": Case([create_block, stage, Volume.publish], Volume.unpublish,
                               ["umount2", "unlink"], ["data"]),
    "unstage a device": Case([create_block, stage], Volume.unstage, ["umount2"], ["data"]),
    "delete a device": Case([create_block], Volume.delete, DESTROY, []),
    "clone a device": Case([create_ext4], clone_ext4,
                           ["zfs snapshot", "zfs clone", "zfs destroy"], KEPT),
    "delete a clone of a device": Case([create_ext4, clone_ext4], delete_copy, DESTROY, ["data"]),
    "stage ext4": Case([create_ext4], stage, ["mkdir", *FORMAT, *PLACE], ["data"]),
    "stage ext4 again": Case([create_ext4, unmount], stage, ["mkdir", *PLACE], ["data"]),
    "stage ext4 with an owner": Case(
        [create_owned], stage,
        ["mkdir", *FORMAT, *PLACE, "open_tree", "mount_setattr", "fchmod", "fchown"], ["data"]),
    "stage a clone of ext4": Case([create_ext4, unmount, clone_ext4], stage_copy,
                                  ["mkdir", *RENEW, *PLACE], KEPT),
    "publish ext4": Case([create_ext4, stage], Volume.publish, ["mkdir", *ATTACH], ["data"]),
    "expand ext4 on the node": Case([create_ext4, stage, Volume.publish, expand], node_expand,
                                    ["open_tree", "mount_setattr"], ["data"]),
    "unpublish ext4": Case([create_ext4, stage, Volume.publish], Volume.unpublish,
                           ["umount2", "rmdir"], ["data"]),
    "unstage ext4": Case([create_ext4, stage], Volume.unstage, ["umount2"], ["data"]),
    "delete ext4": Case([create_ext4, unmount], Volume.delete, DESTROY, []),
    "stage an encrypted ext4": Case(
        [create_encrypted], stage,
        ["mkdir", "zfs get", "zfs load-key", *FORMAT, *PLACE], ["data"]),
    "unstage an encrypted ext4": Case(
        [create_encrypted, stage], Volume.unstage,
        ["umount2", "zfs get", "zfs unload-key"], ["data"]),
}
