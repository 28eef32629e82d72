# SPDX-License-Identifier: MPL-2.0
"""Volumes on zvols: how they are asked for, and what a test does with a device."""
import os
import stat

from client import capability, MIB
from host import Volume


def block(mode="SINGLE_NODE_WRITER"):
    made = capability(mode)
    made.ClearField("mount")
    made.block.SetInParent()
    return made


def zvol(host, name, wanted, size=32 * MIB):
    """A volume by what it is asked for: "block", or a file system."""
    made = Volume(host, name, size)
    made.capability = block() if wanted == "block" else capability(fs_type=wanted)
    return made


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
    """In bytes, of a device or a file."""
    with open(path, "rb") as device:
        return device.seek(0, os.SEEK_END)
