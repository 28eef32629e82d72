# SPDX-License-Identifier: MPL-2.0
"""Dead mounts of zfs-fuse: when zfs-fuse ends, each use of its mounts fails with ENOTCONN, even
after it was started again. A dead mount is replaced, unless a workload has it.

The zfs-fuse of the host has other pools too, so it is not ended here. The tests mount a FUSE file
system whose server is the test process, and end that service at once: the kernel and zcsi-node see
no difference.

Also the publication to an NFS client, set by hand, because with zfs-fuse nothing is exported; and
snapshots, which zfs-fuse does not mount."""
import ctypes
import errno
import os
import subprocess

import grpc
import pytest

from client import refused
from host import run
from snapshots import take
from staged import points, sibling
from test_cli import zcsi

CODE = grpc.StatusCode
LIBC = ctypes.CDLL(None, use_errno=True)


def is_dead(path):
    try:
        os.statvfs(path)
    except OSError as error:
        assert error.errno == errno.ENOTCONN
        return True
    return False


def mount_dead(volume, path):
    """Mount a dead zfs-fuse filesystem of this volume, with the propagation of a staging mount."""
    os.mkdir(path)
    server = os.open("/dev/fuse", os.O_RDWR)
    words = (volume.host.dataset(volume.id), path, "fuse.zfs", 0,
             f"fd={server},rootmode=40000,user_id=0,group_id=0")
    done = LIBC.mount(*(word.encode() if isinstance(word, str) else word for word in words))
    assert done == 0, os.strerror(ctypes.get_errno())
    os.close(server)
    run("mount", "--make-private", path)
    run("mount", "--make-shared", path)
    assert is_dead(path)


def bind(volume, path):
    """Bind the staging mount of the volume to a path, with the propagation of a target mount."""
    os.mkdir(path)
    run("mount", "--bind", volume.staging, path)
    run("mount", "--make-slave", path)


def stage(volume):
    """Stage the volume without creating the directory: on its dead mount even stat(2) fails."""
    return volume.host.node.NodeStageVolume(
        volume_id=volume.id, staging_target_path=volume.staging,
        volume_capability=volume.capability)


@pytest.fixture
def dead(volume):
    """A volume whose staging mount is dead."""
    volume.create()
    mount_dead(volume, volume.staging)
    return volume


def test_a_dead_staging_is_replaced(host, dead):
    with refused(CODE.FAILED_PRECONDITION, naming=(dead.staging, "dead")):
        dead.publish()
    assert points(host) == [dead.staging]
    stage(dead)
    dead.publish()
    assert not is_dead(dead.target)
    assert sorted(points(host)) == sorted([dead.staging, dead.target])
    dead.down()


def test_a_dead_staging_at_another_path_is_removed(host, dead):
    other = sibling(dead)
    other.stage()
    assert points(host) == [other.staging] and not is_dead(other.staging)
    other.unstage()


def test_a_dead_mount_that_a_workload_has_is_not_touched(host, dead):
    bind(dead, dead.target)
    before = host.mounts()
    for paths in (dead, sibling(dead)):
        with refused(CODE.FAILED_PRECONDITION, naming=(dead.target, "dead")):
            stage(paths)
    for target in (dead.target, f"{host.folder}/another"):
        with refused(CODE.FAILED_PRECONDITION, naming=(dead.staging, "dead")):
            dead.publish(target)
    assert host.mounts() == before
    dead.unpublish()
    stage(dead), dead.publish()
    assert not is_dead(dead.target)
    dead.down()


def test_a_dead_target_whose_staging_is_gone_is_not_removed_by_staging(host, dead):
    bind(dead, dead.target)
    run("umount", dead.staging)
    with refused(CODE.FAILED_PRECONDITION, naming=(dead.target, "dead")):
        dead.stage()
    assert points(host) == [dead.target]
    dead.unpublish()
    dead.stage()
    dead.unstage()


def test_a_dead_mount_is_unpublished_and_unstaged(host, dead):
    bind(dead, dead.target)
    dead.unpublish(), dead.unstage()
    assert points(host) == []


def test_the_health_of_a_dead_mount_says_what_to_do(host, dead):
    answer = host.node.NodeGetVolumeHealth(volume_id=dead.id, staging_target_path=dead.staging)
    assert "zfs-fuse has ended" in str(answer)
    dead.unstage()


def test_the_publication_of_a_lost_nfs_client_ends_with_force(host, volume):
    """No call marks the publication as idle, so it keeps other nodes from the volume until a person
    removes it with the command in jobs/README.md."""
    volume.create()
    for value, nodes in (("gone:1:rw:192.0.2.1", ["gone"]), ("-", [])):
        run("zfs", "set", f"zcsi:published={value}", host.dataset("data"))
        host.rescan(lambda: [row.node_id for row in volume.record().published] == nodes)
        for call in (volume.attach, volume.delete) if nodes else ():
            with refused(CODE.FAILED_PRECONDITION, naming="'gone'"):
                call()
    volume.up().down()
    volume.delete()
    assert host.leaves() == []


def test_copies_need_openzfs(volume):
    with refused(grpc.StatusCode.RESOURCE_EXHAUSTED, naming="it has zfs-fuse"):
        volume.create(parameters={"replicas": "2"})
    assert volume.host.leaves() == []


def test_a_snapshot_is_not_mounted(host, volume, tmp_path):
    volume.create()
    take(volume)
    name = f"{host.dataset('data')}@s"
    for argv in (["mount", "-t", "zfs", "-o", "ro", name, tmp_path], ["zfs", "mount", name]):
        assert subprocess.run(argv, capture_output=True, check=False).returncode != 0
    said = zcsi(host, "snapshot", "mount", "data@s", str(tmp_path), status=1)
    assert "zfs-fuse mounts no snapshots" in said and "make a volume" in said
    assert "zcsi snapshot mount SNAPSHOT DIR" in zcsi(host, "snapshot", "a", "b", "c", status=1)
    assert not os.path.ismount(tmp_path)
