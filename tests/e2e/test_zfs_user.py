# SPDX-License-Identifier: MPL-2.0
"""zfs as a user other than root. zfs-fuse has no `zfs allow`: a user who can open its socket may do
everything. Permissions of OpenZFS are tested in openzfs/test_delegation.py."""
import os
import subprocess
from pathlib import Path

import grpc
import pytest

from client import PATIENCE, refused
from daemon import BUILD, Daemon, wait_for
from host import KERNEL_ZFS, run, Volume
from processes import capabilities, children, status
from units import NOBODY, sandbox

USER = ("--zfs-user", "nobody")
SOCKET = "/var/run/zfs/zfs_socket"
PERMISSIONS = "create,destroy,rename,mount,snapshot,clone,canmount,mountpoint,refquota,userprop"


@pytest.fixture
def delegated(pool):
    """Allow user nobody the operations on the pool that volumes need."""
    if KERNEL_ZFS:
        run("zfs", "allow", "-u", "nobody", PERMISSIONS, pool)
        yield
        run("zfs", "unallow", "-u", "nobody", pool)
    else:
        os.chown(SOCKET, NOBODY, NOBODY)
        yield
        os.chown(SOCKET, 0, 0)


def test_a_volume_of_another_user_lives_a_whole_life(delegated, new_host):
    host = new_host(node_args=USER).start()
    volume = Volume(host, "data").up()
    Path(volume.target, "file").write_text("kept")
    snapshot = host.controller.CreateSnapshot(source_volume_id=volume.id, name="s").snapshot
    copy = Volume(host, "copy")
    copy.create(volume_content_source={"snapshot": {"snapshot_id": snapshot.snapshot_id}})
    volume.expand(2 * volume.size)
    volume.down().delete()
    assert [leaf.split("/")[0] for leaf in host.leaves()] == ["_trash", "_trash", "copy"]
    for step in (copy.attach, copy.stage, copy.publish):
        step()
    assert Path(copy.target, "file").read_text() == "kept"
    copy.down().delete()
    host.controller.DeleteSnapshot(snapshot_id=snapshot.snapshot_id)
    wait_for(lambda: host.leaves() == ["_trash"], "the volume leaves the trash")


def test_every_zfs_runs_as_that_user_without_capabilities(delegated, new_host, new_gate):
    gates = new_gate("zfs"), new_gate("zpool")
    for gate in gates:
        os.chmod(gate.folder, 0o755)
    path = ":".join([str(gate.folder) for gate in gates] + [os.environ["PATH"]])
    host = new_host(node_args=USER, env={"PATH": path}).start()
    assert all(argv.startswith("setpriv ") for argv in host.node_daemon.runs())
    gates[0].hold("create")
    call = Volume(host, "data").start_create()
    gates[0].arrived()
    [child] = children(host.node_daemon.process.pid)
    assert set(capabilities(child).values()) - {capabilities(child)["CapBnd"]} == {0}
    is_now = status(child)
    assert is_now["NoNewPrivs"] == "1"
    assert is_now["Uid"].split() == is_now["Gid"].split() == [str(NOBODY)] * 4
    assert is_now["Groups"].split() == [str(NOBODY)]
    gates[0].open()
    call.result()


def test_a_zfs_that_hangs_is_waited_for(delegated, new_host, gate):
    """zcsi-node has no right to kill a zfs of another user."""
    os.chmod(gate.folder, 0o755)
    host = new_host(node_args=(*USER, "--zfs-timeout", str(3 * PATIENCE)), env=gate.env).start()
    gate.hold("create")
    volume = Volume(host, "data")
    with refused(grpc.StatusCode.UNAVAILABLE, naming="'zfs create'"):
        volume.create()
    gate.open()
    wait_for(lambda: not volume.start_create().exception(), "it has ended")
    assert host.leaves() == ["data"]


def test_the_sandbox_of_its_unit_suffices(delegated, new_host):
    host = new_host(node_args=USER)
    host.node_daemon.argv[:0] = sandbox("zcsi-node")
    Volume(host.start(), "data").up().down().delete()
    assert host.leaves() == []


def test_check_reports_missing_permissions(new_host):
    host = new_host(node_args=USER)
    done = subprocess.run([BUILD / "zcsi-node", "--check", "--dataset", host.parent, *USER],
                          capture_output=True, text=True)
    assert done.returncode == 1
    if KERNEL_ZFS:
        assert f"run 'zfs allow -u nobody create {host.parent}'" in done.stdout
    else:
        assert "chown NAME /run/zfs/zfs_socket" in done.stdout


def test_a_user_that_is_none_is_refused(tmp_path):
    daemon = Daemon("zcsi-node", tmp_path, "--zfs-user", "no-such-user").spawn()
    assert daemon.wait() == 1
    assert "'no-such-user' is not a user of this host" in daemon.text()
