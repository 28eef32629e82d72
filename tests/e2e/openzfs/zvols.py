# SPDX-License-Identifier: MPL-2.0
"""Helpers for volumes on zvols and their devices."""
import os
import stat
from pathlib import Path

from client import capability, MIB
from host import Volume

SIZES = {"block": 32 * MIB, "ext4": 32 * MIB, "xfs": 320 * MIB}  # mkfs.xfs requires 300 MiB


def block(mode="SINGLE_NODE_WRITER"):
    made = capability(mode)
    made.ClearField("mount")
    made.block.SetInParent()
    return made


def zvol(host, name, wanted, size=None):
    """Return a volume, not yet created, as "block" or with this file system, of this size or the
    one in SIZES."""
    made = Volume(host, name, size or SIZES[wanted])
    made.capability = block() if wanted == "block" else capability(fs_type=wanted)
    return made


def device(host, name="data"):
    """Return the path of the device of the volume's zvol on a host."""
    return Path("/dev/zvol", host.dataset(name))


def is_device(path):
    return stat.S_ISBLK(os.lstat(path).st_mode)


def write(path, text, offset=0):
    with open(path, "r+b", buffering=0) as device:
        device.seek(offset)
        device.write(text)
        os.fsync(device.fileno())


def read(path, length, offset=0):
    with open(path, "rb", buffering=0) as device:
        device.seek(offset)
        return device.read(length)


def length(path):
    """Return the length of a device or a file in bytes."""
    with open(path, "rb") as device:
        return device.seek(0, os.SEEK_END)
