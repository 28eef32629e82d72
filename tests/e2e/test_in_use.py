# SPDX-License-Identifier: MPL-2.0
"""A volume that is mounted in another mount namespace is not deleted, whether ZFS would destroy its
dataset or rename it, and not taken out of the trash."""
import contextlib
import subprocess

import grpc
import pytest

from client import refused
from host import get, run, Volume
from snapshots import trashed
from test_cli import zcsi

CODE = grpc.StatusCode


@contextlib.contextmanager
def another_namespace():
    """Within the block, a process keeps copies of all present mounts in its mount namespace."""
    with subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c",
                           "echo; read end"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        try:
            yield process
        finally:
            process.communicate(b"\n")


@pytest.mark.parametrize("snapshot", [False, True], ids=["alone", "snapshot"])
def test_a_volume_mounted_in_another_namespace_is_not_deleted(host, volume, snapshot):
    volume.up()
    if snapshot:
        host.controller.CreateSnapshot(source_volume_id="data", name="s")
    with another_namespace() as process:
        volume.down()
        with refused(CODE.FAILED_PRECONDITION,
                     naming=("'data'", volume.staging, f"sh (pid {process.pid})")):
            volume.delete()
        assert host.leaves() == ["data"]
    volume.delete()
    assert host.ids() == []


def test_a_deleted_volume_mounted_in_another_namespace_is_not_restored(new_host, tmp_path):
    host = new_host(node_args=["--trash-ttl", "100000"]).start()
    volume = Volume(host, "data")
    volume.create()
    volume.delete()
    [leaf] = trashed(host)
    dataset = host.dataset(f"_trash/{leaf}")
    before = get(dataset, "mountpoint")
    run("zfs", "set", f"mountpoint={tmp_path}", dataset)
    run("zfs", "mount", dataset)
    with another_namespace() as process:
        run("zfs", "umount", dataset)
        text = zcsi(host, "trash", "restore", "data", status=1)
        assert f"'{tmp_path}'" in text and f"sh (pid {process.pid})" in text
        assert trashed(host) == [leaf]
    run("zfs", "set", f"mountpoint={before}", dataset)
    zcsi(host, "trash", "restore", "data")
    assert host.ids() == ["data"]
