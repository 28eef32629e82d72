# SPDX-License-Identifier: MPL-2.0
"""ext4 and XFS on zvols: made once, never again; grown online; cloned with an identity of their
own."""
import errno
import os
from pathlib import Path

import grpc
import pytest

from client import capability, csi, MIB, refused, size_of
from daemon import wait_for
from host import get, run, Volume
from snapshots import clone, restore, take
from zvols import block, read, write, zvol

CODE = grpc.StatusCode
SIZES = {"ext4": 32 * MIB, "xfs": 320 * MIB}
# A partition of 4096 sectors from the 2048th.
TABLE = (bytes(450) + b"\x83\xfe\xff\xff" + b"\0\x08\0\0" + b"\0\x10\0\0"
         ).ljust(510, b"\0") + b"\x55\xaa"
BOTH = pytest.mark.parametrize("kind", sorted(SIZES))


def made(host, kind, name="data", size=None):
    return zvol(host, name, kind, size or SIZES[kind])


def device_of(volume):
    return f"/dev/zvol/{volume.host.dataset(volume.id)}"


def raw(volume):
    """Its device, once udev has named it."""
    wait_for(lambda: os.path.exists(device_of(volume)), f"{device_of(volume)} appears")
    return device_of(volume)


def probe(volume, tag):
    return run("blkid", "-p", "-s", tag, "-o", "value", device_of(volume)).strip()


def formatted(volume):
    return get(volume.host.dataset(volume.id), "zcsi:formatted")


def total(path):
    found = os.statvfs(path)
    return found.f_blocks * found.f_frsize


def programs(host):
    """What the node ran, but for ZFS's own."""
    names = [argv.split()[0] for argv in host.node_daemon.runs()]
    return [name for name in names if name not in ("zfs", "zpool")]


@BOTH
def test_a_life(host, kind):
    volume = made(host, kind)
    volume.up()
    assert programs(host) == [f"mkfs.{kind}"] and formatted(volume) == kind
    assert [line for line in Path("/proc/self/mountinfo").read_text().splitlines()
            if f" {volume.target} " in line][0].split(" - ")[1].startswith(
                f"{kind} /dev/zvol/{host.dataset('data')} ")
    Path(volume.target, "note").write_text("kept")
    usage = {row.unit: row for row in host.node.NodeGetVolumeStats(
        volume_id="data", volume_path=volume.target).usage}
    assert 0 < usage[csi.VolumeUsage.BYTES].total <= SIZES[kind]
    assert usage[csi.VolumeUsage.INODES].total > 0
    identity = probe(volume, "UUID")
    volume.stage()
    volume.down()
    assert host.mounts() == []
    volume.up()
    assert Path(volume.target, "note").read_text() == "kept"
    assert programs(host) == [f"mkfs.{kind}"] and probe(volume, "UUID") == identity
    other = Volume(host, "data")
    other.capability = capability("SINGLE_NODE_READER_ONLY", fs_type=kind)
    other.stage()
    with pytest.raises(OSError) as seen:
        Path(other.staging, "more").write_text("refused")
    assert seen.value.errno == errno.EROFS
    other.unstage()
    volume.down()
    volume.delete()
    assert host.leaves() == []


@BOTH
def test_grows_online_under_a_workload(host, kind):
    volume = made(host, kind)
    volume.up()
    before = total(volume.target)
    with open(Path(volume.target, "log"), "w", encoding="ascii") as log:
        answer = volume.expand(SIZES[kind] * 2)
        assert answer.node_expansion_required and answer.capacity_bytes == SIZES[kind] * 2
        for _ in range(2):
            assert host.node.NodeExpandVolume(
                volume_id="data", volume_path=volume.target,
                volume_capability=volume.capability).capacity_bytes == SIZES[kind] * 2
        assert total(volume.target) > before * 1.8
        log.write("still open")
    assert Path(volume.target, "log").read_text() == "still open"
    with refused(CODE.INVALID_ARGUMENT, naming="block"):
        host.node.NodeExpandVolume(volume_id="data", volume_path=volume.target,
                                   volume_capability=block())
    assert programs(host) == [f"mkfs.{kind}"]


@BOTH
def test_grown_while_nobody_has_it_and_read_only(host, kind):
    volume = made(host, kind)
    volume.up()
    before = total(volume.target)
    volume.down()
    volume.expand(SIZES[kind] * 2)
    volume.capability = capability("SINGLE_NODE_READER_ONLY", fs_type=kind)
    volume.stage()
    assert total(volume.staging) > before * 1.8
    volume.expand(SIZES[kind] * 3)
    host.node.NodeExpandVolume(volume_id="data", volume_path=volume.staging)
    assert total(volume.staging) > before * 2.6


@BOTH
def test_a_clone_is_another_file_system(host, kind):
    """Of a volume in use, whose journal is not empty; both are mounted at once."""
    volume = made(host, kind)
    volume.up()
    Path(volume.target, "note").write_text("then")
    os.sync()
    snapshot = take(volume)
    Path(volume.target, "note").write_text("now")
    os.sync()
    larger = clone(volume, "larger", capacity_range=size_of(SIZES[kind] * 2),
                   volume_capabilities=[capability()])
    old = restore(host, snapshot.snapshot_id, "old", capacity_range=size_of(SIZES[kind]),
                  volume_capabilities=[capability(fs_type=kind)])
    for copy, text in ((larger, "now"), (old, "then")):
        assert formatted(copy) == "-"
        copy.stage()
        copy.publish()
        assert Path(copy.target, "note").read_text() == text and formatted(copy) == kind
    assert total(larger.target) > total(old.target) * 1.8
    identities = {probe(each, "UUID") for each in (volume, larger, old)}
    assert len(identities) == 3 and "" not in identities
    assert programs(host).count(f"mkfs.{kind}") == 1
    identity = probe(old, "UUID")
    for _ in range(2):
        old.unpublish()
        old.unstage()
        old.stage()
        old.publish()
    assert probe(old, "UUID") == identity
    if kind == "ext4":
        old.unpublish()
        old.unstage()
        run("e2fsck", "-f", "-n", device_of(old))


def test_permissions_of_the_root_directory(host):
    volume = made(host, "ext4")
    volume.create(parameters={"owner": "1001", "group": "1002", "mode": "0750"})
    volume.stage()
    found = os.stat(volume.staging)
    assert (found.st_uid, found.st_gid, found.st_mode & 0o7777) == (1001, 1002, 0o750)


# Blank means: nothing is found, and nothing was ever made.

def content(volume):
    return read(raw(volume), MIB)


def refused_to_stage(volume, naming):
    before = content(volume), formatted(volume)
    with refused(CODE.FAILED_PRECONDITION, naming=naming):
        volume.stage()
    assert (content(volume), formatted(volume)) == before
    assert not [name for name in programs(volume.host) if name.startswith("mkfs")]


def test_what_is_not_blank_is_not_formatted(host):
    for name, fill in (
            ("swap", lambda device: run("mkswap", device)),
            ("xfs-or-so", lambda device: run("mkfs.ext4", "-q", "-O", "^has_journal", device)),
            ("table", lambda device: write(device, TABLE))):
        volume = made(host, "xfs", name)
        volume.create()
        fill(raw(volume))
        refused_to_stage(volume, naming=(f"'{name}'", "not overwritten"))


def test_what_was_formatted_once_is_not_formatted_again(host):
    volume = made(host, "ext4")
    volume.create()
    run("zfs", "set", "zcsi:formatted=ext4", host.dataset("data"))
    host.node_daemon.stop()
    host.start_node()
    with refused(CODE.FAILED_PRECONDITION, naming=("'data'", "zcsi:formatted")):
        volume.stage()
    assert content(volume) == bytes(MIB) and programs(host) == []


def test_what_is_in_use_is_not_touched(host):
    volume = made(host, "ext4")
    volume.create()
    fd = os.open(raw(volume), os.O_RDONLY | os.O_EXCL)
    try:
        with refused(CODE.FAILED_PRECONDITION, naming=("'data'", "in use")):
            volume.stage()
    finally:
        os.close(fd)
    assert programs(host) == []
    volume.stage()
