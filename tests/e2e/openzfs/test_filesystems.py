# SPDX-License-Identifier: MPL-2.0
"""ext4 and XFS on zvols: they are created once, grow while mounted, and get a new UUID in a
clone."""
import errno
import os
from pathlib import Path

import grpc
import pytest

from client import capability, csi, MIB, refused, size_of
from daemon import wait_for
from host import get, run, Volume
from snapshots import clone, restore, take
from test_cli import rows, zcsi
from zvols import block, read, SIZES, write, zvol

CODE = grpc.StatusCode
# A partition table with one partition of 4096 sectors that begins at sector 2048.
TABLE = (bytes(450) + b"\x83\xfe\xff\xff" + b"\0\x08\0\0" + b"\0\x10\0\0"
         ).ljust(510, b"\0") + b"\x55\xaa"
BOTH = pytest.mark.parametrize("kind", ["ext4", "xfs"])


def made(host, kind, name="data", size=None):
    return zvol(host, name, kind, size)


def device_of(volume):
    return f"/dev/zvol/{volume.host.dataset(volume.id)}"


def raw(volume):
    """Return the path of the volume's device, once udev has created it."""
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
    """Return the programs that the node ran, except those of ZFS."""
    names = [argv.split()[0] for argv in host.node_daemon.runs()]
    return [name for name in names if name not in ("zfs", "zpool")]


@BOTH
def test_a_file_system_volume_is_created_used_and_deleted(host, kind):
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
def test_a_file_system_grows_while_it_is_mounted(host, kind):
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
def test_an_operator_makes_a_file_system_larger_without_an_orchestrator(host, kind):
    """zcsi resize grows a file system that is mounted; staging grows one that is not."""
    volume = made(host, kind)
    volume.up()
    before = total(volume.target)
    host.controller_daemon.kill()
    for _ in range(2):
        shown = dict(rows(zcsi(host, "resize", "data", str(SIZES[kind] * 2), "-Hp")))
        assert (shown["size"], shown["filesystem"]) == (str(SIZES[kind] * 2), "grown")
        assert total(volume.target) > before * 1.8
    volume.unpublish()
    volume.unstage()
    shown = dict(rows(zcsi(host, "resize", "data", str(SIZES[kind] * 3), "-Hp")))
    assert shown["filesystem"] == "grows when the volume is used next"
    volume.stage()
    assert total(volume.staging) > before * 2.6


@BOTH
def test_a_file_system_grows_when_it_is_staged_read_only(host, kind):
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
def test_a_clone_gets_a_uuid_of_its_own(host, kind):
    """The snapshot is of a volume in use, so its journal is not empty. Volume and clone are mounted
    at the same time, which needs different UUIDs."""
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


def test_the_root_directory_gets_the_permissions_of_the_parameters(host):
    volume = made(host, "ext4")
    volume.create(parameters={"owner": "1001", "group": "1002", "mode": "0750"})
    volume.stage()
    found = os.stat(volume.staging)
    assert (found.st_uid, found.st_gid, found.st_mode & 0o7777) == (1001, 1002, 0o750)


# A blank device is one on which no signature is found and that was never formatted.

def content(volume):
    return read(raw(volume), MIB)


def refused_to_stage(volume, naming):
    before = content(volume), formatted(volume)
    with refused(CODE.FAILED_PRECONDITION, naming=naming):
        volume.stage()
    assert (content(volume), formatted(volume)) == before
    assert not [name for name in programs(volume.host) if name.startswith("mkfs")]


def test_a_device_with_contents_is_not_formatted(host):
    for name, fill in (
            ("swap", lambda device: run("mkswap", device)),
            ("xfs-or-so", lambda device: run("mkfs.ext4", "-q", "-O", "^has_journal", device)),
            ("table", lambda device: write(device, TABLE))):
        volume = made(host, "xfs", name)
        volume.create()
        fill(raw(volume))
        refused_to_stage(volume, naming=(f"'{name}'", "not overwritten"))


def test_a_device_is_formatted_only_once(host):
    volume = made(host, "ext4")
    volume.create()
    run("zfs", "set", "zcsi:formatted=ext4", host.dataset("data"))
    host.node_daemon.stop()
    host.start_node()
    with refused(CODE.FAILED_PRECONDITION, naming=("'data'", "zcsi:formatted")):
        volume.stage()
    assert content(volume) == bytes(MIB) and programs(host) == []


def test_a_device_in_use_is_not_formatted(host):
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
