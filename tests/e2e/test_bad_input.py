# SPDX-License-Identifier: MPL-2.0
"""Every field of every RPC, missing or wrong: the call returns the right code and a text that names
the field, and changes nothing. A row is (RPC, fields that differ from the good request, code, word
in the text)."""
import contextlib
import os

import grpc
import pytest

from client import capability, csi, METHODS, MIB, refused
from host import Host, KERNEL_ZFS, run, tree, Volume
from snapshots import take

CODE = grpc.StatusCode
BAD, ABSENT, RANGE = CODE.INVALID_ARGUMENT, CODE.NOT_FOUND, CODE.OUT_OF_RANGE
FULL, UNMET = CODE.RESOURCE_EXHAUSTED, CODE.FAILED_PRECONDITION
GOOD = capability()
NO_TYPE = csi.VolumeCapability(access_mode=GOOD.access_mode)
NO_MODE = csi.VolumeCapability(mount=GOOD.mount)
MODE_0 = csi.VolumeCapability(mount=GOOD.mount, access_mode={})
MODE_99 = csi.VolumeCapability(mount=GOOD.mount)
MODE_99.access_mode.MergeFromString(b"\x08\x63")
BLOCK = csi.VolumeCapability(block={}, access_mode=GOOD.access_mode)
MANY_NODES = capability("MULTI_NODE_MULTI_WRITER")
EXT2, EXT4, XFS = (capability(fs_type=name) for name in ("ext2", "ext4", "xfs"))
FLAGS = capability(mount_flags=["x" * 128] * 40)
GROUP = capability(volume_mount_group="g" * 129)
LONG, CONTROL = "x" * 129, ("a\x01b", "a\x7fb", "a\u0085b")
LARGE_MAP = {f"key{n}": "v" * 100 for n in range(50)}
NOWHERE = {"segments": {"zcsi.zfs/node": "nowhere"}}

REQUESTS = {  # a valid request of each RPC; the volume V and its snapshot V@s exist
    "CreateVolume": {"name": "new", "volume_capabilities": [GOOD]},
    "DeleteVolume": {"volume_id": "V"},
    "ControllerPublishVolume": {"volume_id": "V", "node_id": "n1", "volume_capability": GOOD},
    "ControllerUnpublishVolume": {"volume_id": "V", "node_id": "n1"},
    "ValidateVolumeCapabilities": {"volume_id": "V", "volume_capabilities": [GOOD]},
    "ControllerExpandVolume": {"volume_id": "V", "capacity_range": {"required_bytes": 1 << 24}},
    "ControllerModifyVolume": {"volume_id": "V", "mutable_parameters": {"zfs.atime": "off"}},
    "ControllerGetVolume": {"volume_id": "V"},
    "ListVolumes": {},
    "GetCapacity": {},
    "CreateSnapshot": {"source_volume_id": "V", "name": "new"},
    "DeleteSnapshot": {"snapshot_id": "V@s"},
    "GetSnapshot": {"snapshot_id": "V@s"},
    "ListSnapshots": {},
    "CreateVolumeGroupSnapshot": {"name": "new", "source_volume_ids": ["V"]},
    "DeleteVolumeGroupSnapshot": {"group_snapshot_id": "g", "snapshot_ids": ["V@g_g"]},
    "GetVolumeGroupSnapshot": {"group_snapshot_id": "g", "snapshot_ids": ["V@g_g"]},
    "NodeStageVolume": {"volume_id": "V", "volume_capability": GOOD, "staging_target_path": "{s}"},
    "NodeUnstageVolume": {"volume_id": "V", "staging_target_path": "{s}"},
    "NodePublishVolume": {"volume_id": "V", "volume_capability": GOOD,
                          "staging_target_path": "{s}", "target_path": "{t}"},
    "NodeUnpublishVolume": {"volume_id": "V", "target_path": "{t}"},
    "NodeGetVolumeStats": {"volume_id": "V", "volume_path": "{s}"},
    "NodeExpandVolume": {"volume_id": "V", "volume_path": "{s}"},
    "CreateDataset": {"id": "new", "size": MIB},
    "GetDataset": {"id": "V"},
    "ResizeDataset": {"id": "V", "size": 1 << 24},
    "RollbackDataset": {"id": "V", "snapshot_id": "V@s"},
    "RenameDataset": {"id": "V", "new_id": "new", "claim": 1},
    "DetachDataset": {"id": "V"},
    "GetDatasetDetach": {"id": "V"},
    "DestroyDataset": {"id": "V"},
    "ListTrash": {},
    "RestoreDataset": {"id": "gone", "guid": 1, "claim": 1},
    "DestroyTrashedDataset": {"id": "gone", "guid": 1},
    "PublishDataset": {"id": "V", "publication": {"node_id": "n1", "access_mode": 1}},
    "UnpublishDataset": {"id": "V"},
    "GetDatasetUse": {"id": "V", "name": "pool/parent/V"},
    "ListDatasets": {},
    "ModifyDataset": {"id": "V", "properties": [{"name": "atime", "value": "off"}]},
    "SettleDataset": {"id": "V", "guid": 1},
    "MoveDataset": {"id": "V", "node_id": "n2"},
    "GetDatasetMove": {"id": "V"},
    "GetDatasetCopy": {"id": "V"},
    "AddBackup": {"id": "V", "from_node_id": "n2"},
    "SnapshotDataset": {"id": "V", "name": "new"},
    "SnapshotGroup": {"group": "new", "ids": ["V"]},
    "GetSnapshotGroup": {"group": "g"},
    "GetDatasetSnapshot": {"id": "V@s"},
    "ListDatasetSnapshots": {},
    "DestroyDatasetSnapshot": {"id": "V@s"},
}


def rows_of_capability(rpc, field, wrap):
    for wrong, word in ((NO_TYPE, "access"), (NO_MODE, "access_mode"), (MODE_0, "access_mode"),
                        (MODE_99, "99"), (EXT2, "ext2"), (FLAGS, "mount"),
                        (GROUP, "volume_mount_group")):
        yield rpc, {field: wrap(wrong)}, BAD, word


def rows_of_format(rpc, code):
    """Rows with capabilities of another format than the volume V, which is a ZFS filesystem."""
    for wrong, word in ((BLOCK, "'block'"), (EXT4, "'ext4'")):
        yield rpc, {"volume_capability": wrong}, code, word


def rows_of_path(rpc, field):
    for wrong in ("", "relative/path", "./here", "{f}/a/../b", "{f}/a/./b", "/", "/" + "x/" * 2100):
        yield rpc, {field: wrong}, BAD, field


def rows_of_place(rpc, field):
    for wrong in ("{f}/file", "{f}/link"):
        yield rpc, {field: wrong}, BAD, wrong


def rows_of_name(rpc):
    """Rows with names that CSI does not allow for a name that the caller chooses."""
    for wrong, word in (("", "name"), (LONG, "128"), ("ü" * 65, "128")):
        yield rpc, {"name": wrong}, BAD, word
    for wrong in CONTROL:
        yield rpc, {"name": wrong}, BAD, "name"


def rows_of_mutable(rpc):
    for key, value in (("unknown", "x"), ("", "x"), ("zfs.mountpoint", "/"), ("zfs.quota", "1"),
                       ("zfs.compression", "best"), ("zfs.compression", "on -o x=y"),
                       ("zfs.compression", ""), ("zfs.user.zcsi:volume", "W"),
                       ("zfs.user.colon", "x"), ("zfs.user.a:b", "x" * 4000), ("owner", "1"),
                       ("zfs.user.a:b", "x\ny"), ("provisioning", "thick"), ("attach", "local")):
        yield rpc, {"mutable_parameters": {key: value}}, BAD, key or "parameter"
    yield rpc, {"mutable_parameters": LARGE_MAP}, BAD, "4096"


def rows_of_source(kind, field, absent):
    def source(name):
        return {"volume_content_source": {kind: {field: name}}}
    yield "CreateVolume", source(""), BAD, field
    for name in (*absent, "made-up", "../x", LONG, "-r"):
        yield "CreateVolume", source(name), ABSENT, name
    for size in ({"required_bytes": 1 << 20}, {"limit_bytes": 1 << 20}):
        yield "CreateVolume", {**source("V@s" if kind == "snapshot" else "V"),
                               "capacity_range": size}, RANGE, str(1 << 20)


ROWS = [
    *rows_of_name("CreateVolume"),
    ("CreateVolume", {"volume_capabilities": []}, BAD, "volume_capabilities"),
    *rows_of_capability("CreateVolume", "volume_capabilities", lambda wrong: [wrong]),
    *rows_of_capability("CreateVolume", "volume_capabilities", lambda wrong: [GOOD, wrong]),
    *(("CreateVolume", {"volume_capabilities": several}, BAD, "make two")
      for several in ([GOOD, BLOCK], [BLOCK, GOOD], [EXT4, BLOCK], [XFS, EXT4])),
    *(("CreateVolume", {"volume_capabilities": [other], **fields}, code, "V")
      for other in (BLOCK, EXT4) for fields, code in (
          ({"name": "V"}, CODE.ALREADY_EXISTS),
          ({"volume_content_source": {"volume": {"volume_id": "V"}}}, BAD),
          ({"volume_content_source": {"snapshot": {"snapshot_id": "V@s"}}}, BAD))),
    *(("CreateVolume", {"volume_capabilities": [EXT4], "parameters": {key: value}}, BAD, key)
      for key, value in (("zfs.recordsize", "8K"), ("zfs.atime", "off"), ("zfs.snapdir", "hidden"),
                         ("zfs.volsize", "1M"), ("zfs.volblocksize", "256K"))),
    ("CreateVolume", {"parameters": {"zfs.volblocksize": "8K"}}, BAD, "zfs.volblocksize"),
    ("CreateVolume", {"volume_capabilities": [EXT4], "capacity_range": {
        "required_bytes": 9 << 20 | 1, "limit_bytes": 9 << 20 | 2}}, RANGE, str(9 << 20 | 1)),
    ("CreateVolume", {"volume_capabilities": [XFS],
                      "capacity_range": {"limit_bytes": 200 << 20}}, RANGE, "XFS"),
    ("CreateVolume", {"capacity_range": {"required_bytes": -1}}, BAD, "-1"),
    ("CreateVolume", {"capacity_range": {"limit_bytes": -1}}, BAD, "-1"),
    ("CreateVolume", {"capacity_range": {"required_bytes": 9 << 20, "limit_bytes": 8 << 20}}, BAD,
     "limit_bytes"),
    ("CreateVolume", {"capacity_range": {"limit_bytes": 1}}, RANGE, "limit_bytes"),
    ("CreateVolume", {"volume_capabilities": [MANY_NODES]}, BAD, "MULTI_NODE_MULTI_WRITER"),
    ("CreateVolume", {"parameters": {"unknown": "x"}}, BAD, "unknown"),
    ("CreateVolume", {"parameters": {"zfs.mountpoint": "/"}}, BAD, "zfs.mountpoint"),
    ("CreateVolume", {"parameters": {"zfs.refquota": "1"}}, BAD, "zfs.refquota"),
    ("CreateVolume", {"parameters": {"zfs.compression": "on -o x=y"}}, BAD, "zfs.compression"),
    ("CreateVolume", {"parameters": {"zfs.recordsize": "1000"}}, BAD, "zfs.recordsize"),
    ("CreateVolume", {"parameters": {"": "x"}}, BAD, "parameter"),
    ("CreateVolume", {"parameters": {"zfs.encryption": "rot13"}}, BAD, "rot13"),
    ("CreateVolume", {"parameters": {"zfs.keylocation": "prompt"}}, BAD, "encryption_key"),
    ("CreateVolume", {"parameters": {"zfs.encryption": "on"}},
     *((CODE.UNAUTHENTICATED, "encryption_key") if KERNEL_ZFS else
       (FULL, "zfs-fuse cannot encrypt"))),
    *([] if KERNEL_ZFS else [
        ("CreateVolume", {"volume_capabilities": [each]}, FULL, "zfs-fuse, which has no block")
        for each in (BLOCK, EXT4)]),
    ("CreateVolume", {"parameters": LARGE_MAP}, BAD, "4096"),
    *(("CreateVolume", {"parameters": {key: value}}, BAD, key) for key, value in (
        ("owner", "root"), ("owner", "-1"), ("owner", "4294967295"), ("group", "staff"),
        ("group", ""), ("mode", "rwx"), ("mode", "99"), ("mode", "07777777"), ("mode", "0888"),
        ("provisioning", "fat"), ("attach", "smb"), ("zfs.refreservation", "1"),
        ("zfs.user.zcsi:deleted", "1"), ("zfs.user.-r:x", "y"), ("zfs.user.a:b", ""))),
    *rows_of_mutable("CreateVolume"),
    ("CreateVolume", {"volume_content_source": {}}, BAD, "volume_content_source"),
    *rows_of_source("snapshot", "snapshot_id", ["V", "V@", "V@_clone-W", "W@s"]),
    *rows_of_source("volume", "volume_id", ["V@s", "new", "_trash"]),
    ("CreateVolume", {"accessibility_requirements": {"requisite": [NOWHERE],
                                                     "preferred": [NOWHERE]}}, FULL, "nowhere"),
    ("CreateVolume", {"secrets": {"x": "y" * 5 * MIB}}, FULL, "4194304"),
    ("DeleteVolume", {"volume_id": ""}, BAD, "volume_id"),
    ("ControllerPublishVolume", {"volume_id": ""}, BAD, "volume_id"),
    ("ControllerPublishVolume", {"volume_id": "made-up"}, ABSENT, "made-up"),
    ("ControllerPublishVolume", {"volume_id": LONG}, ABSENT, LONG),
    ("ControllerPublishVolume", {"node_id": ""}, BAD, "node_id"),
    ("ControllerPublishVolume", {"node_id": "nobody"}, ABSENT, "nobody"),
    ("ControllerPublishVolume", {"node_id": "n" * 257}, ABSENT, "node"),
    ("ControllerPublishVolume", {"volume_capability": None}, BAD, "volume_capability"),
    ("ControllerPublishVolume", {"volume_capability": MANY_NODES}, BAD, "MULTI_NODE_MULTI_WRITER"),
    *rows_of_capability("ControllerPublishVolume", "volume_capability", lambda wrong: wrong),
    *rows_of_format("ControllerPublishVolume", BAD),
    ("ControllerUnpublishVolume", {"volume_id": ""}, BAD, "volume_id"),
    ("ValidateVolumeCapabilities", {"volume_id": ""}, BAD, "volume_id"),
    ("ValidateVolumeCapabilities", {"volume_id": "made-up"}, ABSENT, "made-up"),
    ("ValidateVolumeCapabilities", {"volume_capabilities": []}, BAD, "volume_capabilities"),
    ("ValidateVolumeCapabilities", {"volume_capabilities": [NO_TYPE]}, BAD, "access_type"),
    ("ValidateVolumeCapabilities", {"volume_capabilities": [NO_MODE]}, BAD, "access_mode"),
    ("ControllerExpandVolume", {"volume_id": ""}, BAD, "volume_id"),
    ("ControllerExpandVolume", {"volume_id": "made-up"}, ABSENT, "made-up"),
    ("ControllerExpandVolume", {"capacity_range": None}, BAD, "capacity_range"),
    ("ControllerExpandVolume", {"capacity_range": {}}, BAD, "capacity_range"),
    ("ControllerExpandVolume", {"capacity_range": {"required_bytes": -1}}, BAD, "-1"),
    ("ControllerExpandVolume", {"capacity_range": {"required_bytes": 2, "limit_bytes": 1}}, BAD,
     "limit_bytes"),
    ("ControllerExpandVolume", {"capacity_range": {"limit_bytes": 1 << 20}}, RANGE, "limit_bytes"),
    *rows_of_capability("ControllerExpandVolume", "volume_capability", lambda wrong: wrong),
    *rows_of_format("ControllerExpandVolume", BAD),
    *((rpc, fields, code, word) for rpc in ("ListVolumes", "ListSnapshots")
      for fields, code, word in (
          ({"max_entries": -1}, BAD, "max_entries"),
          ({"starting_token": "invalid-token"}, CODE.ABORTED, "invalid-token"),
          ({"starting_token": "after:"}, CODE.ABORTED, "starting_token"),
          ({"starting_token": "after:_zz"}, CODE.ABORTED, "starting_token"))),
    ("ListSnapshots", {"max_entries": -1, "snapshot_id": "V@s"}, BAD, "max_entries"),
    ("ListSnapshots", {"starting_token": "x", "snapshot_id": "V@s"}, CODE.ABORTED,
     "starting_token"),
    ("ControllerGetVolume", {"volume_id": ""}, BAD, "volume_id"),
    ("ControllerGetVolume", {"volume_id": "made-up"}, ABSENT, "made-up"),
    ("ControllerModifyVolume", {"volume_id": ""}, BAD, "volume_id"),
    ("ControllerModifyVolume", {"volume_id": "made-up"}, ABSENT, "made-up"),
    ("ControllerModifyVolume", {"volume_id": "V@s"}, ABSENT, "V@s"),
    ("ControllerModifyVolume", {"mutable_parameters": {}}, BAD, "mutable_parameters"),
    *rows_of_mutable("ControllerModifyVolume"),
    *rows_of_name("CreateSnapshot"),
    ("CreateSnapshot", {"source_volume_id": ""}, BAD, "source_volume_id"),
    *(("CreateSnapshot", {"source_volume_id": name}, ABSENT, name)
      for name in ("made-up", "V@s", "../x", LONG)),
    ("CreateSnapshot", {"parameters": {"x": "y"}}, BAD, "'x'"),
    ("CreateSnapshot", {"parameters": LARGE_MAP}, BAD, "4096"),
    ("CreateSnapshot", {"name": "s", "source_volume_id": "W"}, CODE.ALREADY_EXISTS,
     "source_volume_id"),
    ("CreateSnapshot", {"name": "hand"}, CODE.ALREADY_EXISTS, "hand"),
    ("DeleteSnapshot", {"snapshot_id": ""}, BAD, "snapshot_id"),
    ("DeleteSnapshot", {"snapshot_id": "V@hand"}, UNMET, "V@hand"),
    ("GetSnapshot", {"snapshot_id": ""}, BAD, "snapshot_id"),
    *(("GetSnapshot", {"snapshot_id": name}, ABSENT, name)
      for name in ("made-up", "V", "s", "V@_clone-W", "../V@s", LONG)),
    *rows_of_name("CreateVolumeGroupSnapshot"),
    ("CreateVolumeGroupSnapshot", {"source_volume_ids": []}, BAD, "source_volume_ids"),
    ("CreateVolumeGroupSnapshot", {"source_volume_ids": [""]}, BAD, "source_volume_ids"),
    ("CreateVolumeGroupSnapshot", {"source_volume_ids": ["V", "V"]}, BAD, "twice"),
    ("CreateVolumeGroupSnapshot", {"source_volume_ids": ["V", "made-up"]}, ABSENT, "made-up"),
    ("CreateVolumeGroupSnapshot", {"parameters": {"x": "y"}}, BAD, "'x'"),
    ("CreateVolumeGroupSnapshot", {"name": "g", "source_volume_ids": ["W"]}, CODE.ALREADY_EXISTS,
     "source_volume_ids"),
    ("CreateVolumeGroupSnapshot", {"name": "g", "source_volume_ids": ["V", "W"]},
     CODE.ALREADY_EXISTS, "source_volume_ids"),
    *((rpc, fields, BAD, word) for rpc in ("DeleteVolumeGroupSnapshot", "GetVolumeGroupSnapshot")
      for fields, word in (
          ({"group_snapshot_id": ""}, "group_snapshot_id"), ({"snapshot_ids": []}, "V@g_g"),
          ({"snapshot_ids": ["V@s"]}, "V@s"), ({"snapshot_ids": ["V@g_g", "V@s"]}, "V@s"))),
    ("GetVolumeGroupSnapshot", {"group_snapshot_id": "made-up"}, ABSENT, "made-up"),
    ("GetVolumeGroupSnapshot", {"snapshot_ids": ["V@g_g", "made-up"]}, BAD, "made-up"),
    ("NodeStageVolume", {"volume_id": ""}, BAD, "volume_id"),
    ("NodeStageVolume", {"volume_id": "made-up"}, ABSENT, "made-up"),
    ("NodeStageVolume", {"volume_capability": None}, BAD, "volume_capability"),
    *rows_of_capability("NodeStageVolume", "volume_capability", lambda wrong: wrong),
    *rows_of_format("NodeStageVolume", UNMET),
    *rows_of_path("NodeStageVolume", "staging_target_path"),
    *rows_of_place("NodeStageVolume", "staging_target_path"),
    ("NodeUnstageVolume", {"volume_id": ""}, BAD, "volume_id"),
    *rows_of_path("NodeUnstageVolume", "staging_target_path"),
    ("NodePublishVolume", {"volume_id": ""}, BAD, "volume_id"),
    ("NodePublishVolume", {"volume_id": "made-up"}, (ABSENT, UNMET), "made-up"),
    ("NodePublishVolume", {"volume_capability": None}, BAD, "volume_capability"),
    *rows_of_capability("NodePublishVolume", "volume_capability", lambda wrong: wrong),
    *rows_of_format("NodePublishVolume", UNMET),
    *rows_of_path("NodePublishVolume", "target_path"),
    *rows_of_place("NodePublishVolume", "target_path"),
    ("NodePublishVolume", {"staging_target_path": ""}, UNMET, "staging_target_path"),
    ("NodePublishVolume", {"staging_target_path": "{f}/unstaged"}, UNMET, "staging_target_path"),
    ("NodePublishVolume", {"target_path": "{f}/no/parent"}, (ABSENT, UNMET, BAD), "no"),
    ("NodeUnpublishVolume", {"volume_id": ""}, BAD, "volume_id"),
    *rows_of_path("NodeUnpublishVolume", "target_path"),
    *(("NodeStageVolume", {"volume_capability": capability(volume_mount_group=name)}, BAD,
       "volume_mount_group") for name in ("no-such-group", "-1", "4294967295", "a:b")),
    *((rpc, fields, code, word) for rpc in ("NodeGetVolumeStats", "NodeExpandVolume")
      for fields, code, word in (
          ({"volume_id": ""}, BAD, "volume_id"), ({"volume_id": "made-up"}, ABSENT, "made-up"),
          ({"volume_path": ""}, BAD, "volume_path"), ({"volume_path": "here"}, ABSENT, "here"),
          ({"volume_path": "{f}/a/../b"}, ABSENT, "/a/../b"),
          ({"volume_path": "{f}/none"}, ABSENT, "{f}/none"),
          ({"volume_path": "{f}/unstaged"}, ABSENT, "{f}/unstaged"))),
    ("CreateDataset", {"id": ""}, BAD, "id"),
    ("CreateDataset", {"size": -1}, BAD, "size"),
    ("CreateDataset", {"format": "ext2"}, BAD, "ext2"),
    ("CreateDataset", {"format": "block", "size": MIB + 1}, BAD, str(MIB + 1)),
    *(("CreateDataset", {"format": "block", "size": 1 << 24, **source}, BAD, "source")
      for source in ({"source_snapshot": "V@s"}, {"source_dataset": "V"})),
    ("CreateDataset", {"properties": [{"name": "", "value": "x"}]}, BAD, "propert"),
    ("CreateDataset", {"properties": [{"name": "mountpoint", "value": "/"}]}, BAD, "mountpoint"),
    ("CreateDataset", {"properties": [{"name": "-r", "value": "x"}]}, BAD, "-r"),
    ("CreateDataset", {"properties": [{"name": "no-such", "value": "x"}]}, BAD, "no-such"),
    ("GetDataset", {"id": ""}, BAD, "id"),
    ("GetDataset", {"id": "made-up"}, ABSENT, "made-up"),
    ("ResizeDataset", {"id": ""}, BAD, "id"),
    ("ResizeDataset", {"id": "made-up"}, ABSENT, "made-up"),
    ("ResizeDataset", {"size": -1}, BAD, "size"),
    ("DestroyDataset", {"id": ""}, BAD, "id"),
    ("RollbackDataset", {"id": ""}, BAD, "id"),
    ("RollbackDataset", {"snapshot_id": ""}, BAD, "snapshot_id"),
    ("RollbackDataset", {"id": "made-up"}, ABSENT, "made-up"),
    ("RollbackDataset", {"snapshot_id": "V@made-up"}, ABSENT, "made-up"),
    ("RenameDataset", {"id": ""}, BAD, "id"),
    ("RenameDataset", {"new_id": ""}, BAD, "new_id"),
    ("RenameDataset", {"new_id": "V"}, BAD, "V"),
    ("RenameDataset", {"claim": 0}, BAD, "claim"),
    ("RenameDataset", {"id": "made-up"}, ABSENT, "made-up"),
    ("DetachDataset", {"id": ""}, BAD, "id"),
    ("DetachDataset", {"id": "made-up"}, ABSENT, "made-up"),
    ("GetDatasetDetach", {"id": ""}, BAD, "id"),
    ("GetDatasetDetach", {"id": "made-up"}, ABSENT, "made-up"),
    ("RestoreDataset", {"id": ""}, BAD, "id"),
    ("RestoreDataset", {"claim": 0}, BAD, "claim"),
    ("RestoreDataset", {"id": "made-up"}, ABSENT, "made-up"),
    ("RestoreDataset", {"id": "V"}, CODE.ALREADY_EXISTS, "V"),
    ("DestroyTrashedDataset", {"id": ""}, BAD, "id"),
    ("PublishDataset", {"id": ""}, BAD, "id"),
    ("PublishDataset", {"id": "made-up"}, ABSENT, "made-up"),
    ("PublishDataset", {"publication": None}, BAD, "publication"),
    ("PublishDataset", {"publication": {"access_mode": 1}}, BAD, "node_id"),
    ("UnpublishDataset", {"id": ""}, BAD, "id"),
    ("GetDatasetUse", {"id": ""}, BAD, "id"),
    ("GetDatasetUse", {"name": ""}, BAD, "name"),
    *((rpc, {"max": wrong}, BAD, "max")
      for rpc in ("ListDatasets", "ListDatasetSnapshots", "ListTrash") for wrong in (-1, 1001)),
    ("CreateDataset", {"source_snapshot": "V@s", "source_dataset": "V", "size": 1 << 24}, BAD,
     "both"),
    ("CreateDataset", {"source_snapshot": "V@s"}, RANGE, "V@s"),
    ("CreateDataset", {"source_dataset": "V"}, RANGE, "'V'"),
    ("CreateDataset", {"source_snapshot": "V@no"}, ABSENT, "V@no"),
    ("CreateDataset", {"source_snapshot": "V@_clone-W"}, ABSENT, "V@_clone-W"),
    ("CreateDataset", {"source_dataset": "no"}, ABSENT, "no"),
    ("CreateDataset", {"properties": [{"name": "zcsi:published", "value": "n"}]}, BAD, "zcsi:p"),
    ("CreateDataset", {"properties": [{"name": "zcsi:root", "value": "a:b:c"}]}, BAD, "zcsi:root"),
    ("CreateDataset", {"properties": [{"name": "refreservation", "value": "0"}]}, BAD,
     "refreservation"),
    ("ModifyDataset", {"id": ""}, BAD, "id"),
    ("ModifyDataset", {"id": "made-up"}, ABSENT, "made-up"),
    *(("ModifyDataset", {"properties": [{"name": name, "value": value}]}, BAD, word)
      for name, value, word in (
          ("mountpoint", "/", "mountpoint"), ("", "x", "propert"), ("-r", "x", "-r"),
          ("atime", "", "atime"), ("atime", "off -r", "atime"), ("zcsi:volume", "W", "zcsi:v"),
          ("zcsi:root", "1:1:", "root"), ("A:b", "x", "A:b"), ("a:b", "", "a:b"),
          ("a:b", "x\ny", "a:b"), ("a:b", "x" * 1025, "a:b"), ("a:" + "b" * 256, "x", "a:b"))),
    ("SettleDataset", {"id": ""}, BAD, "id"),
    ("SettleDataset", {"id": "made-up"}, ABSENT, "made-up"),
    ("SettleDataset", {}, UNMET, "another one"),
    ("SettleDataset", {"guid": 0, "keeper": "n2"}, UNMET, "another one"),
    ("MoveDataset", {"id": ""}, BAD, "id"),
    ("MoveDataset", {"id": "made-up"}, ABSENT, "made-up"),
    ("MoveDataset", {"node_id": ""}, BAD, "node_id"),
    ("MoveDataset", {}, UNMET, "zcsi copy add V n2"),
    ("MoveDataset", {"node_id": "n1"}, BAD, "it is on node 'n1'"),
    ("GetDatasetMove", {"id": ""}, BAD, "id"),
    ("GetDatasetCopy", {"id": ""}, BAD, "id"),
    ("AddBackup", {"id": ""}, BAD, "id"),
    ("AddBackup", {"id": LONG * 2}, BAD, "longer"),
    ("AddBackup", {"from_node_id": ""}, BAD, "from_node_id"),
    ("AddBackup", {"every": 59}, BAD, "59"),
    ("AddBackup", {"keep": "daily=x"}, BAD, "daily=x"),
    *([] if KERNEL_ZFS else [("AddBackup", {}, UNMET, "zfs-fuse")]),
    ("SnapshotDataset", {"id": ""}, BAD, "id"),
    ("SnapshotDataset", {"id": "made-up"}, ABSENT, "made-up"),
    *(("SnapshotDataset", {"name": wrong}, BAD, "name") for wrong in ("", LONG)),
    ("SnapshotDataset", {"id": "W", "name": "s"}, CODE.ALREADY_EXISTS, "'s'"),
    *(("SnapshotGroup", {"group": wrong}, BAD, "group") for wrong in ("", LONG)),
    ("SnapshotGroup", {"ids": []}, BAD, "0"),
    ("SnapshotGroup", {"ids": [""]}, BAD, "ids"),
    ("SnapshotGroup", {"ids": ["V", "V"]}, BAD, "twice"),
    ("SnapshotGroup", {"ids": ["V"] * 1001}, BAD, "1001"),
    ("SnapshotGroup", {"ids": ["V", "made-up"]}, ABSENT, "made-up"),
    ("GetSnapshotGroup", {"group": ""}, BAD, "group"),
    ("GetSnapshotGroup", {"group": "no"}, ABSENT, "'no'"),
    ("GetDatasetSnapshot", {"id": ""}, BAD, "id"),
    ("GetDatasetSnapshot", {"name": "s"}, BAD, "either"),
    ("GetDatasetSnapshot", {"id": "V@no"}, ABSENT, "V@no"),
    ("GetDatasetSnapshot", {"id": "", "name": "no"}, ABSENT, "no"),
    ("DestroyDatasetSnapshot", {"id": ""}, BAD, "id"),
    ("DestroyDatasetSnapshot", {"id": "V@hand"}, UNMET, "V@hand"),
]


@pytest.fixture(scope="module")
def shared(pool):
    """A host for all rows, with a staged volume V, its snapshot s, a snapshot `hand` of V that
    another tool took, a group snapshot g with V, a clone W of V, a file and a link."""
    with contextlib.closing(Host(pool)) as host:
        host.start()
        volume = Volume(host, "V")
        volume.create()
        volume.stage()
        take(volume)
        run("zfs", "snapshot", host.dataset("V@hand"))
        host.controller.CreateVolumeGroupSnapshot(name="g", source_volume_ids=["V"])
        Volume(host, "W").create(volume_content_source={"volume": {"volume_id": "V"}})
        host.paths = {"f": host.folder, "s": volume.staging, "t": volume.target}
        os.symlink(volume.staging, f"{host.folder}/link")
        with open(f"{host.folder}/file", "w", encoding="ascii") as file:
            file.write("mine")
        os.mkdir(f"{host.folder}/unstaged")
        yield host


def client_of(host, rpc):
    service = METHODS[rpc].containing_service.name
    return host.node if service == "Node" else host.agent if service == "Agent" else host.controller


def in_pool(host):
    """Return a line for each dataset and snapshot: its name and all that a request could change."""
    columns = "name,origin,refquota,refreservation,defer_destroy,atime,compression,a:b," + ",".join(
        f"zcsi:{name}" for name in ("published", "parameters", "root", "deleted", "snapshot"))
    return run("zfs", "list", "-rH", "-t", "filesystem,snapshot", "-o", columns,
               host.parent).splitlines()


def everything(host):
    """Return everything that a refused call must not change."""
    return in_pool(host), host.mounts(), tree(host.folder)


@pytest.fixture
def before(shared):
    """The state before a row. Afterwards anything that the row created is removed, so that later
    rows do not fail because of it."""
    had = everything(shared)
    yield had
    if everything(shared) == had:
        return
    names, known = ([line.split("\t")[0] for line in lines] for lines in (in_pool(shared), had[0]))
    for name in sorted(set(names) - set(known), reverse=True):
        run("zfs", "destroy", name)
    shared.node_daemon.kill()
    shared.restart(shared.node_daemon)


def filled(host, fields):
    return {key: value.format(**host.paths) if isinstance(value, str) and "{" in value else value
            for key, value in fields.items()}


def name_of(row):
    return f"{row}-{ROWS[row][0]}-{ROWS[row][3][:24]}"


@pytest.mark.parametrize("row", range(len(ROWS)), ids=name_of)
def test_a_wrong_field_is_refused(shared, before, row):
    rpc, wrong, codes, word = ROWS[row]
    fields = filled(shared, {**REQUESTS[rpc], **wrong})
    codes = codes if isinstance(codes, tuple) else (codes,)
    with refused(*codes, naming=word.format(**shared.paths)) as refusal:
        getattr(client_of(shared, rpc), rpc)(**fields)
    assert len(refusal.text) < 1500
    assert everything(shared) == before


ELSEWHERE = {
    "controller": ["NodeGetInfo", "NodeStageVolume", "GetHost"],
    "node": ["CreateVolume", "CreateSnapshot", "GroupControllerGetCapabilities", "GetHost"],
    "agent": ["CreateVolume", "CreateSnapshot"],
}


@pytest.mark.parametrize("who,rpc", [(who, rpc) for who, rpcs in ELSEWHERE.items() for rpc in rpcs])
def test_an_rpc_of_another_daemon_is_unimplemented(shared, who, rpc):
    with refused(CODE.UNIMPLEMENTED) as refusal:
        getattr(getattr(shared, who), rpc)()
    assert rpc in refusal.text or METHODS[rpc].containing_service.full_name in refusal.text
