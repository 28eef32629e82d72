# SPDX-License-Identifier: MPL-2.0
"""All that a call may leave behind on a host, as lines that two hosts can be compared by."""
import contextlib
import os
import re
from pathlib import Path

from host import run, tree

# Of the native properties that nobody set, those that tell what became of a snapshot or a clone.
TELLING = ("type", "origin", "defer_destroy", "userrefs", "keystatus")
# Written by the clock.
TIMES = "zcsi:deleted"


def names(parent):
    """Datasets and snapshots below the parent; a guid in a name is masked."""
    listed = run("zfs", "list", "-rH", "-t", "filesystem,volume,snapshot", "-o", "name", parent)
    found = [mask(name, parent)[1:] for name in listed.splitlines()]
    return sorted(name for name in found if name)


def mask(text, parent):
    """Without what differs from host to host: the parent's name, and guids in the trash."""
    return re.sub(r"-\d{10,20}(?=@|$|\s)", "-GUID", text.replace(parent, ""))


def properties(parent):
    listed = run("zfs", "get", "-rHp", "-o", "name,property,value,source", "all", parent)
    for line in listed.splitlines():
        name, prop, value, source = line.split("\t")
        if source == "local" or prop in TELLING:
            yield f"{name} {prop}={'TIME' if prop == TIMES else value}"


def mounts(host):
    """Of its volumes: the source of each ends with the name of its dataset."""
    table = host.namespaces.mounts() if host.namespaces else \
        Path("/proc/self/mountinfo").read_text()
    for line in table.splitlines():
        before, after = line.split(" - ")
        fields, (kind, source, _) = before.split(" "), after.split(" ")
        if f"{host.parent}/" in source:
            roles = re.sub(r":\d+", "", " ".join(fields[6:]))
            yield f"{source} at {fields[4]} {fields[5]} {roles} {kind}"


def directories(folder):
    for path in tree(folder):
        found = os.lstat(path)
        yield f"{path} {found.st_mode:o} {found.st_uid}:{found.st_gid}"


def zfs_runs_on(parent):
    """A zfs that a daemon began goes on when the daemon is dead."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            program, *words = path.read_text(errors="replace").split("\0")
            if program == "zfs" and any(word.startswith(parent) for word in words):
                return True
    return False


def state(host):
    lines = [*properties(host.parent), *mounts(host), *directories(host.folder),
             *(f"volume {name}" for name in host.ids())]
    return sorted(mask(line.replace(host.folder, "FOLDER"), host.parent) for line in lines)
