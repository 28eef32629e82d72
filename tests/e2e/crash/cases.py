# SPDX-License-Identifier: MPL-2.0
"""The calls that change anything, for test_crash_points: CASES has an entry for each of them, with
the operations it performs on the host."""
import grpc

from crash.trial import Case
from daemon import wait_for
from host import KERNEL_ZFS, SIZE, Volume, datasets, get, run


# Calls that Volume has no method for. They use `data`, and create `copy` from it.

def stage(volume):
    """Stage the volume. Unlike Volume.stage(), create no directory first."""
    return volume.host.node.NodeStageVolume(
        volume_id=volume.id, staging_target_path=volume.staging,
        volume_capability=volume.capability, secrets=volume.secrets)


def stage_again(volume):
    return volume.host.node.NodeStageVolume(
        volume_id=volume.id, staging_target_path=volume.staging + "-b",
        volume_capability=volume.capability)


def expand(volume):
    return volume.expand(2 * SIZE)


def node_expand(volume):
    return volume.host.node.NodeExpandVolume(
        volume_id=volume.id, volume_path=volume.target, capacity_range={"required_bytes": SIZE})


def create_owned(volume):
    return volume.create(parameters={"owner": "1000", "group": "1001", "mode": "0770"})


def create_thick(volume):
    return volume.create(parameters={"provisioning": "thick"})


def modify(volume):
    return volume.host.controller.ControllerModifyVolume(
        volume_id=volume.id, mutable_parameters={"zfs.compression": "gzip", "zfs.atime": "off"})


def snapshot(volume):
    return volume.host.controller.CreateSnapshot(source_volume_id=volume.id, name="s")


def delete_snapshot(volume):
    return volume.host.controller.DeleteSnapshot(snapshot_id="data@s")


def restore(volume):
    return Volume(volume.host, "copy").create(
        volume_content_source={"snapshot": {"snapshot_id": "data@s"}})


def clone(volume):
    return Volume(volume.host, "copy").create(
        volume_content_source={"volume": {"volume_id": "data"}})


def delete_copy(volume):
    return Volume(volume.host, "copy").delete()


def group_snapshot(volume):
    return volume.host.controller.CreateVolumeGroupSnapshot(
        name="g", source_volume_ids=[volume.id])


def delete_group_snapshot(volume):
    return volume.host.controller.DeleteVolumeGroupSnapshot(
        group_snapshot_id="g", snapshot_ids=["data@g_g"])


def recorded(volume):
    """Wait until the agent has read the volume's guid from ZFS."""
    wait_for(lambda: volume.record().guid, "the volume is read")


def guid(volume):
    return int(get(volume.host.dataset("data"), "guid"))


def keep(volume):
    return volume.host.agent.SettleDataset(id="data", guid=guid(volume))


def give_up(volume):
    trashed = [name for name in datasets(volume.host.parent) if "data-" in name]
    number = int(trashed[0].rsplit("-", 1)[1]) if trashed else guid(volume)
    return volume.host.agent.SettleDataset(id="data", guid=number, keeper="other")


def received(volume):
    """Create a dataset that is no volume yet, with a snapshot, as a received stream leaves it."""
    name = volume.host.dataset("_received/data")
    run("zfs", "create", "-p", name)
    run("zfs", "snapshot", f"{name}@one")


def adopt(volume, leaf="_received/data", **fields):
    """Claim the name `data` and make the received dataset the volume. The answer is not returned,
    because the guid in it differs between two runs."""
    name = volume.host.dataset(leaf)
    number = get(name if name in datasets(volume.host.parent) else volume.host.dataset("data"),
                 "guid")
    fields = fields or {"size": SIZE, "format": "zfs"}
    volume.host.agent.AdoptDataset(id="data", claim=claim_name(volume.host.agent, 1),
                                   guid=int(number), **fields)


def foreign(volume, leaf="csi/data"):
    """Create a dataset of another driver, with a snapshot."""
    name = volume.host.dataset(leaf)
    run("zfs", "create", "-p", "-o", "canmount=noauto", "-o", f"quota={SIZE}", "-o",
        "democratic-csi:managed_resource=true", name)
    run("zfs", "snapshot", f"{name}@one")


def adopt_foreign(volume, leaf="csi/data"):
    adopt(volume, leaf, dataset=volume.host.dataset(leaf))


def foreign_in_place(volume):
    foreign(volume, "data")


def adopt_in_place(volume):
    adopt_foreign(volume, "data")


def claim_name(agent, claim, name="data"):
    """Claim a name. Return this claim or, if the agent has promised the name to a higher one, the
    next number above that."""
    try:
        promised = agent.GetDataset(id=name, claim=claim).promised
    except grpc.RpcError as error:
        if error.code() != grpc.StatusCode.NOT_FOUND:
            raise
        return claim
    return claim_name(agent, promised + 1, name) if promised else claim


def rename(volume):
    """Rename the volume. The answer is not returned: a repeat says that it is done already."""
    agent = volume.host.agent
    agent.RenameDataset(id="data", new_id="new", claim=claim_name(agent, 1, "new"))


def destroy_trashed(volume):
    leaves = [name for name in datasets(volume.host.parent) if "data-" in name]
    number = int(leaves[0].rsplit("-", 1)[1]) if leaves else 1
    return volume.host.agent.DestroyTrashedDataset(id="data", guid=number)


MOUNT = ["mount"] if KERNEL_ZFS else ["zfs set", "zfs mount"]
MAKE = ["symlink", "mkdir"]
STAGE = [*MOUNT, "open_tree", "umount2", "mount_setattr", "mount_setattr", "move_mount"]
UNMOUNT = ["umount2", "unlink"]
TWO_SETTINGS = ["zfs get", "zfs set"] if KERNEL_ZFS else ["zfs get", "zfs set", "zfs set"]
ATTACH = ["open_tree", "mount_setattr", "move_mount"]
DESTROY = ["zfs get", "zfs destroy"]
# A superblock by which ZFS replays the intent log of an unmounted filesystem.
REPLAY = ["fsopen"] if KERNEL_ZFS else []
AT_ONCE = ["zfs program"] if KERNEL_ZFS else []
DELETE = AT_ONCE or DESTROY
DEFER = [*AT_ONCE, *DESTROY, "zfs get", "zfs destroy"]
TRASH = ["zfs rename", "zfs create", "zfs rename"]
TRASH_CLONED = TRASH if KERNEL_ZFS else ["zfs list", *TRASH]
TRASHED = ["_trash", "_trash/data-GUID"]
# A zfs list because zfs-fuse would unmount the clones; canmount, and then all other properties.
DESCRIBE = [*([] if KERNEL_ZFS else ["zfs list"]), "zfs set", "zfs get",
            *["zfs set"] * (1 if KERNEL_ZFS else 6)]
WITHOUT_QUOTA = [] if KERNEL_ZFS else ["zfs set"]
RENAME = ["zfs get", "zfs list", *([] if KERNEL_ZFS else ["zfs list", "zfs get", "zfs set"]),
          "zfs set", "zfs rename", "zfs set"]
IDLE = [Volume.create, Volume.attach, stage, Volume.unstage]

CASES = {
    "create": Case([], Volume.create, ["zfs create"], ["data"]),
    "attach": Case([Volume.create], Volume.attach, ["zfs set"], ["data"]),
    "stage": Case([Volume.create], stage, [*MAKE, *STAGE], ["data"]),
    "stage with an owner": Case(
        [create_owned], stage,
        [*MAKE, *STAGE, "open_tree", "mount_setattr", "fchmod", "fchown"],
        ["data"]),
    "stage in a second place": Case(
        [Volume.up], stage_again,
        [*MAKE, "open_tree", "mount_setattr", "mount_setattr", "move_mount"], ["data"]),
    "publish": Case([Volume.create, stage], Volume.publish, ["mkdir", *ATTACH], ["data"]),
    "expand": Case([Volume.create], expand, ["zfs set"], ["data"]),
    "expand a thick one": Case([create_thick], expand, TWO_SETTINGS, ["data"]),
    "expand on the node": Case([Volume.up], node_expand, [], ["data"]),
    "modify": Case([Volume.create], modify, TWO_SETTINGS, ["data"]),
    "unpublish": Case([Volume.up], Volume.unpublish, ["umount2", "rmdir"], ["data"]),
    "unstage": Case([Volume.create, stage], Volume.unstage, UNMOUNT, ["data"]),
    "unstage a published one": Case(
        [Volume.create, Volume.attach, stage], Volume.unstage, [*UNMOUNT, "zfs set"], ["data"]),
    "stage an idle one": Case(IDLE, Volume.stage, ["zfs set", *MAKE, *STAGE], ["data"]),
    "attach an idle one": Case(IDLE, Volume.attach, ["zfs set"], ["data"]),
    "delete an idle one": Case(IDLE, Volume.delete, [*AT_ONCE, *DESTROY], []),
    "detach": Case([Volume.create, Volume.attach], Volume.detach, ["zfs set"], ["data"]),
    "delete": Case([Volume.create], Volume.delete, DELETE, []),
    "snapshot": Case([Volume.create], snapshot, [*REPLAY, "zfs snapshot"], ["data", "data@s"]),
    "snapshot a group": Case(
        [Volume.create], group_snapshot, [*REPLAY, "zfs snapshot"], ["data", "data@g_g"]),
    "restore": Case(
        [Volume.create, snapshot], restore, ["zfs clone"], ["copy", "data", "data@s"]),
    "clone": Case(
        [Volume.create], clone,
        [*REPLAY, "zfs snapshot", "zfs clone", "zfs destroy"],
        ["copy", "data", "data@_clone-copy"]),
    "delete a snapshot": Case(
        [Volume.create, snapshot], delete_snapshot, DELETE, ["data"]),
    "delete a group": Case(
        [Volume.create, group_snapshot], delete_group_snapshot, DELETE, ["data"]),
    "delete a snapshot with a clone": Case(
        [Volume.create, snapshot, restore], delete_snapshot, DEFER, ["copy", "data", "data@s"]),
    "delete the clone of a deleted snapshot": Case(
        [Volume.create, snapshot, restore, delete_snapshot], delete_copy, DELETE, ["data"]),
    "delete a clone": Case([Volume.create, clone], delete_copy, DELETE, ["data"]),
    "delete what has a snapshot": Case(
        [Volume.create, snapshot], Volume.delete,
        ["zfs get", *TRASH_CLONED], [*TRASHED, "_trash/data-GUID@s"]),
    "delete what has a clone": Case(
        [Volume.create, clone], Volume.delete,
        [*AT_ONCE, "zfs get", *TRASH_CLONED],
        [*TRASHED, "_trash/data-GUID@_clone-copy", "copy"]),
    "delete the last snapshot in the trash": Case(
        [Volume.create, snapshot, Volume.delete], delete_snapshot,
        [*DELETE, "zfs destroy"], ["_trash"]),
    "delete the last clone in the trash": Case(
        [Volume.create, clone, Volume.delete], delete_copy, [*DELETE, "zfs destroy"], ["_trash"],
        ["--rescan", "1"]),
    "delete with a time to undo it": Case(
        [Volume.create], Volume.delete,
        ["zfs get", "zfs set", *TRASH], TRASHED, ["--trash-ttl", "3600"]),
    "destroy what is in the trash": Case(
        [Volume.create, Volume.delete], destroy_trashed, DESTROY, ["_trash"],
        ["--trash-ttl", "3600"]),
    "delete a thick one with a time to undo it": Case(
        [create_thick], Volume.delete,
        ["zfs get", "zfs set", *TRASH, "zfs set"], TRASHED, ["--trash-ttl", "3600"]),
    "adopt": Case(
        [received], adopt, ["zfs get", "zfs list", "zfs get", *DESCRIBE, "zfs rename", "zfs set"],
        ["_received", "data", "data@one"]),
    "adopt a dataset of another driver": Case(
        [foreign], adopt_foreign,
        ["zfs get", "zfs list", "zfs get", "zfs get", *DESCRIBE, *WITHOUT_QUOTA, "zfs rename",
         "zfs set"],
        ["csi", "data", "data@one"]),
    "adopt a dataset in its place": Case(
        [foreign_in_place], adopt_in_place,
        ["zfs get", "zfs list", "zfs get", *DESCRIBE, *WITHOUT_QUOTA, "zfs set"],
        ["data", "data@one"]),
    "rename": Case([Volume.create, snapshot], rename, RENAME, ["new", "new@s"]),
    "settle as the one that keeps it": Case(
        [Volume.create, recorded], keep, ["zfs get", "zfs set"], ["data"]),
    "settle as the one that gives it up": Case(
        [Volume.create, recorded], give_up,
        ["zfs get", *MAKE, *STAGE, *UNMOUNT, "rmdir", "zfs set", *TRASH], TRASHED),
    "delete when the time to undo it passes": Case(
        [Volume.create], Volume.delete, ["zfs get", "zfs set", *TRASH, "zfs destroy"], ["_trash"],
        ["--trash-ttl", "1", "--rescan", "1"]),
}
