# SPDX-License-Identifier: MPL-2.0
"""More cases that need the kernel's ZFS: calls that take other steps there, encrypted volumes and
volumes on zvols. Calls that take the same steps for these as for a dataset are left out."""
from client import capability, MIB
from crash.cases import ATTACH, CASES, MAKE, REPLAY, stage, STAGE, UNMOUNT
from crash.trial import Case
from daemon import wait_for
from host import get, run, Volume

EXT4 = capability(fs_type="ext4")
BLOCK = capability()
BLOCK.block.SetInParent()
KEY, ENCRYPTED = {"encryption_key": "0f" * 32}, {"zfs.encryption": "on"}
OTHERWISE = ("stage", "stage with an owner", "expand a thick one", "modify", "snapshot",
             "snapshot a group", "clone", "delete", "delete a clone", "delete a snapshot",
             "delete a snapshot with a clone", "delete the last snapshot in the trash", "rename")


def create_encrypted(volume):
    volume.secrets = KEY
    return volume.create(parameters=ENCRYPTED)


def create_on_zvol(volume, wanted, **fields):
    volume.capability, volume.size = wanted, 16 * MIB
    return volume.create(**fields)


def create_block(volume):
    return create_on_zvol(volume, BLOCK)


def create_ext4(volume):
    return create_on_zvol(volume, EXT4)


def create_encrypted_ext4(volume):
    """Create an encrypted zvol. The call is repeated until the key is unloaded, because udev may
    keep a new device open for longer than zcsi waits before it unloads the key."""
    volume.secrets = KEY

    def locked():
        create_on_zvol(volume, EXT4, parameters=ENCRYPTED)
        return get(volume.host.dataset("data"), "keystatus") == "unavailable"
    wait_for(locked, "the key is unloaded")


def stage_encrypted_again(volume):
    return volume.host.node.NodeStageVolume(
        volume_id=volume.id, staging_target_path=volume.staging + "-b",
        volume_capability=volume.capability, secrets=volume.secrets)


def rename_by_hand(volume):
    run("zfs", "rename", "-u", volume.host.dataset("data"), volume.host.dataset("away"))
    wait_for(lambda: volume.host.ids() == [], "the rename is seen")


def take_twice(volume):
    for name in ("one", "two"):
        volume.host.agent.SnapshotDataset(id="data", name=name)


def roll_back(volume):
    """Roll the volume back. The answer is not returned: a repeat says that it is done already."""
    volume.host.agent.RollbackDataset(id="data", snapshot_id="data@one")


def clone_it(volume):
    volume.host.agent.SnapshotDataset(id="data", name="one")
    volume.host.agent.CreateDataset(id="copy", size=volume.size, source_snapshot="data@one")
    volume.host.agent.SnapshotDataset(id="copy", name="two")


def detach(volume):
    """Detach the clone, and wait for the end. A repeat may find that it is done already."""
    agent = volume.host.agent
    if agent.DetachDataset(id="copy").running:
        wait_for(lambda: not agent.GetDatasetDetach(id="copy").running, "it has ended")
        assert not agent.GetDatasetDetach(id="copy").error


def unmount(volume):
    """Stage and unstage, so that the volume has been formatted once."""
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


LOAD, UNLOAD = ["zfs get", "zfs load-key"], ["zfs get", "zfs unload-key"]
NOTED, ENDED = "zfs set", "zfs set"  # zcsi:staged
PLACE = ["fsopen", "fsmount", "mount_setattr", "mount_setattr", "move_mount"]
STAGE_BLOCK = [*MAKE, "fsopen", "fsmount", "mknodat", *PLACE[2:]]
FORMAT = ["mkfs.ext4 -q", "zfs set"]
RENEW = ["fsopen", "fsmount", "e2fsck -f", "tune2fs -U", "zfs set"]
KEPT = ["copy", "data", "data@_clone-copy"]

ROLL_BACK = ["zfs get", "zfs list", *["zfs get"] * 3, "zfs clone", "zfs create",
             "zfs clone", "zfs get", "zfs set", "zfs set", "zfs rename", "zfs rename", "zfs get",
             "zfs get", "zfs promote", "zfs list", "zfs get"]
ROLLED_BACK = ["_trash", "_trash/old-data-GUID", "_trash/old-data-GUID@two", "data", "data@one"]
# The checks of the call and of the thread; the marks; two streams and the record of the snapshot;
# the exchange; the end; the reaper.
CHECK = ["zfs get", "zfs get", "zfs list", "zfs get", "zfs get"]
DETACH = [*CHECK, *CHECK, "zfs create", "zfs create", "zfs set", *REPLAY,
          "zfs snapshot", "zfs list", "zfs get", "zfs get", "zfs send", "zfs receive",
          "zfs send", "zfs receive", "zfs get", "zfs get", "zfs set",
          "zfs get", "zfs list", "zfs list", *["zfs get"] * 3, "zfs set", "zfs set",
          "zfs list", "zfs get", "zfs get", "zfs list", "zfs list",
          "zfs set", "zfs rename", "zfs rename",
          "zfs list", "zfs list", "zfs set", "zfs destroy", "zfs destroy", "zfs inherit",
          "zfs inherit", "zfs set", "zfs list", "zfs destroy", "zfs get", "zfs inherit",
          "zfs destroy"]
DETACHED = ["_detach", "_trash", "copy", "copy@two", "data", "data@one"]
KERNEL_CASES = {call: CASES[call] for call in OTHERWISE} | {
    "create an encrypted one": Case([], create_encrypted, ["zfs create", *UNLOAD], ["data"]),
    "stage an encrypted one": Case(
        [create_encrypted], stage, [*LOAD, NOTED, *MAKE, *STAGE], ["data"]),
    "stage an encrypted one in a second place": Case(
        [create_encrypted, stage], stage_encrypted_again,
        [*LOAD, *MAKE, "open_tree", "mount_setattr", "mount_setattr", "move_mount"], ["data"]),
    "unpublish a renamed one": Case(
        [Volume.create, stage, Volume.publish, rename_by_hand], Volume.unpublish,
        ["zfs get", "umount2", "rmdir"], ["away"]),
    "unstage a renamed one": Case(
        [Volume.create, stage, rename_by_hand], Volume.unstage,
        ["zfs get", *UNMOUNT, "zfs get"], ["away"]),
    "unstage an encrypted one": Case(
        [create_encrypted, stage], Volume.unstage, [*UNMOUNT, *UNLOAD, ENDED], ["data"]),
    "roll back": Case([Volume.create, take_twice], roll_back, ROLL_BACK, ROLLED_BACK),
    "detach": Case([Volume.create, clone_it], detach, DETACH, DETACHED),
    "create a device": Case([], create_block, ["zfs create"], ["data"]),
    "stage a device": Case([create_block], stage, STAGE_BLOCK, ["data"]),
    "publish a device": Case([create_block, stage], Volume.publish, ATTACH, ["data"]),
    "expand a device": Case([create_block], expand, ["zfs get", "zfs set"], ["data"]),
    "unpublish a device": Case([create_block, stage, Volume.publish], Volume.unpublish,
                               ["umount2", "unlink"], ["data"]),
    "unstage a device": Case([create_block, stage], Volume.unstage, UNMOUNT, ["data"]),
    "delete a device": Case([create_block], Volume.delete, ["zfs program"], []),
    "clone a device": Case([create_ext4], clone_ext4,
                           ["zfs snapshot", "zfs clone", "zfs destroy"], KEPT),
    "stage ext4": Case([create_ext4], stage, [*MAKE, *FORMAT, *PLACE], ["data"]),
    "stage a clone of ext4": Case([create_ext4, unmount, clone_ext4], stage_copy,
                                  [*MAKE, *RENEW, *PLACE], KEPT),
    "expand ext4 on the node": Case([create_ext4, stage, Volume.publish, expand], node_expand,
                                    ["open_tree", "mount_setattr"], ["data"]),
    "stage an encrypted ext4": Case(
        [create_encrypted_ext4], stage, [*LOAD, NOTED, *MAKE, *FORMAT, *PLACE], ["data"]),
    "unstage an encrypted ext4": Case(
        [create_encrypted_ext4, stage], Volume.unstage, [*UNMOUNT, *UNLOAD, ENDED], ["data"]),
}
