# SPDX-License-Identifier: MPL-2.0
"""Faults of a real host: each makes its alerts fire, and they end when it is mended."""
import contextlib
import os
import re

import grpc
import pytest

from client import MIB
from daemon import wait_for
from host import fill, get, RESERVED, run, Volume
from snapshots import trashed
from test_cli import zcsi

ROOM = 40 * MIB  # the size of a volume that is filled
TIMEOUT = 5  # the timeout of a zfs process, in seconds


@contextlib.contextmanager
def firing(watch, *names):
    """Wait until these alerts fire, with the fault that the caller has planted; then until they do
    not, when the block has mended it. Gives their annotations."""
    def fire():
        seen.update(watch.firing())
        return set(names) <= seen.keys()

    seen = {}
    wait_for(fire, f"{names} fire", 60, pause=0.1)
    for each in seen.values():
        assert not re.search(r"<|\$|\{|  ", each["summary"] + each["description"])
    yield seen
    wait_for(lambda: not set(names) & watch.firing().keys(), f"{names} end", 60, pause=0.1)


def emptied(host):
    """Destroy what is in the trash, so that none of it is destroyed early."""
    zcsi(host, "trash", "empty", "--destroy", str(len(trashed(host))))


def test_a_healthy_host_fires_nothing(host, watch):
    """No alert fires for ten seconds of a host that works."""
    def in_order():
        return watch.query('count_over_time(up{job="zcsi"}[10s]) >= 8') and not \
            watch.query('max_over_time(ALERTS{job="zcsi",alertstate="firing"}[10s])')

    volume = Volume(host, "first").up()
    wait_for(in_order, "ten seconds without an alert", 120, pause=0.1)
    assert len(watch.query('up{job="zcsi"} == 1')) == 2
    volume.down().delete()
    emptied(host)


def written(volume, size):
    with open(f"{volume.target}/file", "wb") as file:
        file.write(os.urandom(size))
        os.fsync(file.fileno())


def test_a_full_volume_fires_until_it_is_resized(host, watch):
    """The command of the description makes it larger, and that ends the alert."""
    volume = Volume(host, "data", size=ROOM).up()
    written(volume, ROOM * 93 // 100)
    with firing(watch, "ZcsiVolumeAlmostFull"):
        assert "ZcsiVolumeFull" not in watch.firing()
        fill(f"{volume.target}/more")
        with firing(watch, "ZcsiVolumeFull") as seen:
            [command] = re.findall("`zcsi (resize .*) SIZE`",
                                   seen["ZcsiVolumeFull"]["description"])
            assert command == "resize data"
            host.rescan(lambda: host.agent.GetDataset(id="data").dataset.used >= ROOM)
            assert "full" in zcsi(host, "why", "data", status=1, stdout=True)
            zcsi(host, *command.split(), str(2 * ROOM))
    volume.down().delete()
    emptied(host)


def test_a_filling_pool_fires(host, watch):
    volume = Volume(host, "large", size=2 * ROOM).up()
    written(volume, ROOM)
    used = int(get(host.parent, "used"))

    def left(percent):
        """Leave so much of the pool free, by a quota."""
        host.limit(used * 100 // (100 - percent) - RESERVED)
    left(8)
    with firing(watch, "ZcsiPoolAlmostFull"):
        assert "ZcsiPoolFull" not in watch.firing()
        left(1)
        with firing(watch, "ZcsiPoolFull"):
            left(7)
        # A deleted volume counts as free space, since it is destroyed when there is need.
        volume.down().delete()
    with firing(watch, "ZcsiTrashFillsPool"):
        left(2)
        with firing(watch, "ZcsiTrashEmptiedEarly"):
            pass
    host.limit(1000 * ROOM)


def started_with(host, argv):
    host.node_daemon.stop()
    host.node_daemon.argv = argv
    host.restart(host.node_daemon)


@contextlib.contextmanager
def impatient(host):
    """zcsi-node waits only a moment for each zfs."""
    before = host.node_daemon.argv
    started_with(host, [*before, "--zfs-timeout", str(TIMEOUT)])
    try:
        yield
    finally:
        started_with(host, before)


def test_a_hung_zfs_fires(host, watch, gate):
    volume = Volume(host, "data")
    volume.create()
    with impatient(host), contextlib.ExitStack() as stack:
        stack.callback(gate.open)
        gate.hold(" set ")
        with pytest.raises(grpc.RpcError):
            host.agent.ModifyDataset(id="data", properties=[{"name": "atime", "value": "off"}])
        with firing(watch, "ZcsiZfsHangs"):
            gate.open()
    volume.delete()
    emptied(host)


def test_a_missing_parent_dataset_fires(host, watch):
    """The parent dataset has another name."""
    run("zfs", "rename", host.parent, f"{host.parent}-away")
    with firing(watch, "ZcsiPoolUnusable"):
        run("zfs", "rename", f"{host.parent}-away", host.parent)


def test_an_unreachable_agent_fires(host, watch):
    host.node_daemon.kill()
    with firing(watch, "ZcsiDown", "ZcsiAgentUnreachable") as seen:
        assert f"127.0.0.1:{host.node_daemon.port}" in seen["ZcsiDown"]["summary"]
        assert host.agent_socket in seen["ZcsiAgentUnreachable"]["summary"]
        host.restart(host.node_daemon)
