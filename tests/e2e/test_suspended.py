# SPDX-License-Identifier: MPL-2.0
"""A pool whose device fails: ZFS waits for it without a timeout. The device is a file on a tmpfs
that has no room for more data until it is enlarged."""
import contextlib
import errno
import itertools
import mmap
import os
import shlex
import subprocess
import tempfile
from pathlib import Path

import grpc
import pytest

from client import capability, MIB, PATIENCE, refused, size_of, topology
from cluster import Cluster
from daemon import wait_for
from host import Host, run, SIZE, Volume
from pages import page
from pool import Pools
from processes import of_calls
from test_doctor import doctor

CODE = grpc.StatusCode
TIMEOUT = 3 * PATIENCE  # the timeout of a zfs process, in seconds
ROOM = "1g"
SPARE = 64 * MIB  # more than ZFS writes in a moment
WORKERS = 8  # worker threads of zcsi-node


class Scarce:
    """A pool on a tmpfs of limited size."""

    def __init__(self, name):
        self.name = name
        self.folder = tempfile.mkdtemp(prefix="zcsi-scarce-")
        run("mount", "-t", "tmpfs", "-o", f"size={ROOM}", "zcsi-scarce", self.folder)
        self.pools = Pools(self.folder)
        self.pools.create(name)

    def room(self, size):
        run("mount", "-o", f"remount,size={size}", self.folder)

    def fail(self):
        """Shrink the tmpfs to a size that ZFS does not exceed meanwhile, and fill it, so that every
        further write of ZFS fails."""
        run("sync", "-f", self.folder)
        self.room(Path(self.folder, f"{self.name}.img").stat().st_blocks * 512 + SPARE)
        with open(f"{self.folder}/filler", "wb") as filler:
            step, used = SPARE, 0
            while step >= mmap.PAGESIZE:
                try:
                    os.posix_fallocate(filler.fileno(), used, step)
                    used += step
                except OSError as error:
                    assert error.errno == errno.ENOSPC
                    step //= 2

    def heal(self):
        """Enlarge the tmpfs and resume the pool. `zpool clear` is repeated, because zfs-fuse drops
        some connections while all its threads wait for the disk."""
        self.room(ROOM)
        clear = ["zpool", "clear", self.name]
        wait_for(lambda: not subprocess.run(clear, check=False).returncode, "the pool is cleared")

    def close(self):
        self.heal()
        self.pools.close()
        run("umount", self.folder)
        os.rmdir(self.folder)


@pytest.fixture
def scarce():
    with contextlib.closing(Scarce(f"scarce{os.getpid()}")) as made:
        yield made


@pytest.fixture
def cluster(scarce, pool):
    """Host a is on the pool that can fail, host b on another one."""
    words = ["--zfs-timeout", str(TIMEOUT)]
    with contextlib.closing(Cluster([scarce.name, pool], controllers=2, node_args=words)) as made:
        yield made


def create(controller, name, *nodes):
    return controller.CreateVolume.future(
        name=name, capacity_range=size_of(SIZE), volume_capabilities=[capability()],
        accessibility_requirements=topology(*nodes))


def first_that_hangs(controller, *nodes):
    """Create volumes on these nodes until a call fails, and return its volume's name and the
    call."""
    for name in (f"v{n}" for n in itertools.count()):
        call = create(controller, name, *nodes)
        if call.code() is not CODE.OK:
            return name, call


def test_a_hung_create_is_unknown_until_it_has_ended(cluster, scarce):
    a, b = cluster.hosts
    scarce.fail()
    name, call = first_that_hangs(cluster.controllers[0], "a")
    assert call.code() is CODE.UNAVAILABLE
    assert f"zpool clear {scarce.name}" in call.details()
    processes = len(list(of_calls(a.node_daemon.log())))
    for controller, other in zip(cluster.controllers, [name, "w"]):
        again = create(controller, other, "b")
        assert again.code() is CODE.UNAVAILABLE
        assert f"zpool clear {scarce.name}" in again.details()
    assert len(list(of_calls(a.node_daemon.log()))) == processes
    assert b.leaves() == []
    scarce.heal()
    for controller in cluster.controllers:
        wait_for(lambda: create(controller, name, "a").code() is CODE.OK, "the pool is back")
    assert set(map(tuple, cluster.where().values())) == {("a",)}
    assert create(cluster.controllers[1], "w", "b").code() is CODE.OK


@pytest.fixture
def alone(scarce):
    with contextlib.closing(Host(scarce.name, node_args=["--zfs-timeout", str(TIMEOUT)])) as made:
        made.node_daemon.metrics = f"{made.folder}/metrics"
        made.node_daemon.argv += ["--metrics", f"unix://{made.node_daemon.metrics}"]
        yield made.start()


def usable(host):
    text = page(host.node_daemon, "/metrics")[1]
    return f'zcsi_pool_usable{{dataset="{host.parent}"}} 1' in text.splitlines()


def test_a_call_without_zfs_is_served_while_it_hangs(alone, scarce):
    volume = Volume(alone, "data").up()
    assert usable(alone)
    scarce.fail()
    name, _ = first_that_hangs(alone.controller)
    for call in [create(alone.controller, f"w{n}") for n in range(3 * WORKERS)]:
        assert call.code() is CODE.UNAVAILABLE
    with refused(CODE.UNAVAILABLE, naming=f"zpool clear {scarce.name}"):
        volume.delete()
    volume.unpublish()
    volume.unstage()
    assert not usable(alone)
    assert scarce.name in page(alone.node_daemon, "/health/ready")[1]
    assert alone.node.NodeGetStorageHealth().backend_health[0].reason == "PoolUnavailable"
    scarce.heal()
    wait_for(lambda: usable(alone), "the pool is back")
    assert create(alone.controller, name).code() is CODE.OK
    volume.up().down().delete()
    assert "data" not in alone.leaves()


def test_the_next_node_waits_for_a_zfs_of_the_killed_one(alone, scarce):
    scarce.fail()
    name, _ = first_that_hangs(alone.controller)
    alone.node_daemon.kill()
    alone.node_daemon.close()
    alone.node_daemon.start()
    agent = alone.node_daemon.client(f"unix:{alone.agent_socket}")
    wait_for(lambda: "fuser" in agent.GetHost().problem, "it waits for the zfs")
    scarce.heal()
    wait_for(lambda: not agent.GetHost().problem, "the pool is back")
    alone.wait_for_agent()
    assert create(alone.controller, name).code() is CODE.OK
    assert alone.leaves() == alone.ids()


def test_doctor_names_the_command_that_resumes_a_pool(alone, scarce):
    volume = Volume(alone, "data").up()
    assert doctor(alone) == []
    scarce.fail()
    first_that_hangs(alone.controller)
    [finding] = [each for each in doctor(alone) if each.type != "-"]
    assert finding[:3] == ("stops", "-", "n1") and finding.type == f"zpool clear {scarce.name}"
    scarce.room(ROOM)
    wait_for(lambda: not subprocess.run(shlex.split(finding.type), check=False).returncode,
             "it can be typed")
    wait_for(lambda: doctor(alone) == [], "the pool is back")
    volume.down()
