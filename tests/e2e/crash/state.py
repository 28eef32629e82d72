# SPDX-License-Identifier: MPL-2.0
"""All traces that a call may leave on a host, as lines, so that two hosts can be compared."""
import contextlib
import os
import re
from pathlib import Path

from host import run, staging_marks, tree

# Native properties that show what became of a snapshot or a clone, even if they are not set
# locally.
TELLING = ("type", "origin", "defer_destroy", "userrefs", "keystatus")
# Properties whose value begins with a time or a guid, which differs from host to host.
OWN = ("zcsi:deleted", "zcsi:rollback")


def names(parent):
    """Return datasets and snapshots below the parent; a guid in a name is masked."""
    listed = run("zfs", "list", "-rH", "-t", "filesystem,volume,snapshot", "-o", "name", parent)
    found = [mask(name, parent)[1:] for name in listed.splitlines()]
    return sorted(name for name in found if name)


def mask(text, parent):
    """Remove what differs from host to host: the parent's name, and guids of names in the trash."""
    return re.sub(r"-\d{10,20}(?=@|$|\s)", "-GUID", text.replace(parent, ""))


def properties(parent):
    listed = run("zfs", "get", "-rHp", "-o", "name,property,value,source", "all", parent)
    for line in listed.splitlines():
        name, prop, value, source = line.split("\t")
        if source == "local" or prop in TELLING:
            yield f"{name} {prop}={re.sub('^[0-9]+', 'OWN', value) if prop in OWN else value}"


def mounts(host):
    """Yield the mounts of the host's volumes, whose sources contain the parent's name."""
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
    """True if a zfs process works on the parent; it keeps running after its daemon is killed."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            program, *words = path.read_text(errors="replace").split("\0")
            if program == "zfs" and any(word.startswith(parent) for word in words):
                return True
    return False


def state(host):
    lines = [*properties(host.parent), *mounts(host), *directories(host.folder),
             *(f"staging mark of {os.readlink(mark)}" for mark in staging_marks(host)),
             *(f"volume {name}" for name in host.ids())]
    return sorted(mask(line.replace(host.folder, "FOLDER"), host.parent) for line in lines)
