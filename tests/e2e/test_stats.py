# SPDX-License-Identifier: MPL-2.0
"""Usage, condition and size of a volume as the node reports them."""
import contextlib
import os
import signal
from pathlib import Path

import grpc
import pytest

from client import csi, MIB, PATIENCE, refused, size_of
from daemon import wait_for
from host import fill, run, SIZE, Volume
from staged import bare, used

CODE = grpc.StatusCode
# Number of concurrent calls. They are fewer on a slow host, because the margin between the end of a
# call's work and its deadline, which is left for the response, is the same there.
AT_ONCE = 20 // PATIENCE


def stats(volume, path=None, **fields):
    return volume.host.node.NodeGetVolumeStats(
        volume_id=volume.id, volume_path=path or volume.target, **fields)


def abnormal(volume, *words, **fields):
    answer = stats(volume, **fields)
    assert answer.volume_condition.abnormal
    for word in words:
        assert word in answer.volume_condition.message
    return answer


def usage(volume, path=None):
    """Return the rows BYTES and INODES, and check that no other row exists."""
    rows = {row.unit: row for row in stats(volume, path).usage}
    assert set(rows) == {csi.VolumeUsage.BYTES, csi.VolumeUsage.INODES}
    for row in rows.values():
        assert 0 <= row.used <= row.total and 0 <= row.available <= row.total
    return rows[csi.VolumeUsage.BYTES], rows[csi.VolumeUsage.INODES]


def test_usage_is_that_of_the_volume(host, volume):
    used(volume)
    size, files = usage(volume)
    assert 0.9 * SIZE < size.total <= SIZE and size.available > 0.9 * size.total
    for number in range(50):
        Path(volume.target, str(number)).touch()
    # ZFS stops a writer only after the quota is slightly exceeded.
    written = fill(f"{volume.target}/file")
    # ZFS updates its counters when it writes a transaction group, which a snapshot forces.
    run("zfs", "snapshot", host.dataset("data@now"))
    assert usage(volume)[0].used >= written and usage(volume)[1].used == files.used + 51
    for path in (volume.target, volume.staging):
        assert usage(volume, path)[0].available < MIB


def test_a_healthy_volume_is_normal(volume):
    condition = stats(used(volume)).volume_condition
    assert not condition.abnormal and condition.message


def absent_at(host, volume):
    """Return paths where the volume is not mounted, whether or not they exist."""
    other = used(Volume(host, "other"))
    return "some/path", "./here", "/", "/nowhere/at/all", host.folder, volume.target, other.target


@pytest.mark.parametrize("rpc", ["NodeGetVolumeStats", "NodeExpandVolume"])
def test_a_path_without_the_volume_is_refused(host, volume, rpc):
    volume.create()
    call = getattr(host.node, rpc)
    for path in absent_at(host, volume):
        with refused(CODE.NOT_FOUND, naming=["data", path]):
            call(volume_id="data", volume_path=path)
    with refused(CODE.NOT_FOUND, naming="made-up"):
        call(volume_id="made-up", volume_path="some/path")


@pytest.mark.parametrize("rpc", ["NodeGetVolumeStats", "NodeExpandVolume"])
@pytest.mark.parametrize("field", ["volume_id", "volume_path"])
def test_a_field_that_is_missing_is_named(host, rpc, field):
    fields = {"volume_id": "data", "volume_path": "/path", field: ""}
    with refused(CODE.INVALID_ARGUMENT, naming=field):
        getattr(host.node, rpc)(**fields)


# ---- volume condition ----

@contextlib.contextmanager
def dead_filesystem(dataset, path):
    """Within the block, the dataset has a FUSE mount at `path` whose file system never answers."""
    fuse = os.open("/dev/fuse", os.O_RDWR)
    try:
        run("mount", "-i", "-n", "-t", "fuse.zfs", "-o",
            f"fd={fuse},rootmode=40000,user_id=0,group_id=0", dataset, path, pass_fds=[fuse])
        yield
    finally:
        os.close(fuse)


def asking(daemon):
    """Return the number of the daemon's threads that wait for a file system."""
    names = []
    for path in Path(f"/proc/{daemon.process.pid}/task").glob("*/comm"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            names.append(path.read_text())
    return names.count("statvfs\n")


def test_a_dead_filesystem_costs_one_thread_and_little_time(host, volume):
    used(volume)
    with dead_filesystem(host.dataset("data"), volume.target):
        assert not abnormal(volume, "does not answer", volume.target, timeout=2).usage
        calls = [host.node.NodeGetVolumeStats.future(
            volume_id="data", volume_path=volume.target, timeout=2) for _ in range(AT_ONCE)]
        assert all(call.result().volume_condition.abnormal for call in calls)
        assert asking(host.node_daemon) == 1
        assert not stats(volume, volume.staging).volume_condition.abnormal
    abnormal(volume, "not connected")
    wait_for(lambda: asking(host.node_daemon) == 0, "the thread has ended")
    run("umount", volume.target)
    assert not stats(volume).volume_condition.abnormal


def test_without_a_deadline_a_dead_filesystem_is_given_up(host, volume):
    used(volume)
    with dead_filesystem(host.dataset("data"), volume.target):
        abnormal(volume, "does not answer", timeout=20)


def test_a_covered_volume_is_abnormal(volume):
    used(volume)
    run("mount", "-t", "tmpfs", "-o", "size=1m", "cover", volume.target)
    assert not abnormal(volume, "cover", volume.target).usage
    run("umount", volume.target)
    assert not stats(volume).volume_condition.abnormal


def test_a_filesystem_that_became_read_only_is_abnormal(volume):
    used(volume)
    run("mount", "-i", "-o", "remount,ro", volume.staging)
    run("mount", "-i", "-o", "remount,bind,rw", volume.staging)
    abnormal(volume, "read-only", volume.target)
    volume.unpublish()
    volume.publish(readonly=True)
    assert not stats(volume).volume_condition.abnormal
    run("mount", "-i", "-o", "remount,rw", volume.staging)


def test_a_target_whose_staging_has_gone_is_abnormal(volume):
    used(volume)
    run("umount", volume.staging)
    bare(volume.target)
    abnormal(volume, "staging mount", volume.target)


def test_a_volume_whose_dataset_lost_its_properties_is_abnormal(host, volume):
    used(volume)
    run("zfs", "set", "zcsi:version=0", host.dataset("data"))
    host.node_daemon.signal(signal.SIGHUP)
    wait_for(lambda: stats(volume).volume_condition.abnormal, "the pool is read again")
    assert abnormal(volume, host.dataset("data")).usage


def test_a_pool_that_cannot_be_read_is_abnormal(new_host):
    host = new_host()
    broken = Path(host.folder, "bin")
    broken.mkdir()
    host.node_daemon.env["PATH"] = f"{broken}:{host.node_daemon.env['PATH']}"
    volume = used(Volume(host.start(), "data"))
    Path(broken, "zfs").symlink_to("/bin/false")
    host.node_daemon.signal(signal.SIGHUP)
    wait_for(lambda: stats(volume).volume_condition.abnormal, "the pool is read again")
    assert abnormal(volume, "pool").usage
    Path(broken, "zfs").unlink()


def test_condition_depends_on_the_mount_while_the_pool_is_being_read(gated, gate):
    volume = used(Volume(gated, "data"))
    gated.node_daemon.close()
    gated.node_daemon.kill()
    gate.hold("get -rHp ")
    gated.node_daemon.start()
    gated.node = gated.node_daemon.client()
    gate.arrived()
    answer = stats(volume, timeout=2)
    assert answer.usage and not answer.volume_condition.abnormal
    gate.open()


# ---- expansion ----

def test_node_expand_returns_the_size_that_the_controller_set(host, volume):
    used(volume)
    def expand(path=volume.target, **fields):
        return host.node.NodeExpandVolume(volume_id="data", volume_path=path, **fields)
    assert expand().capacity_bytes == SIZE
    with refused(CODE.OUT_OF_RANGE, naming=["ControllerExpandVolume", str(SIZE)]):
        expand(capacity_range=size_of(2 * SIZE))
    volume.expand(2 * SIZE)
    for path in (volume.target, volume.staging):
        assert expand(path, capacity_range=size_of(2 * SIZE)).capacity_bytes == 2 * SIZE
    assert expand(capacity_range=size_of(SIZE, SIZE)).capacity_bytes == 2 * SIZE
    for wrong in (size_of(-1), size_of(0, -1), size_of(2, 1)):
        with refused(CODE.INVALID_ARGUMENT, naming="capacity_range"):
            expand(capacity_range=wrong)
