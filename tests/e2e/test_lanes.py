# SPDX-License-Identifier: MPL-2.0
"""Calls that wait for a zfs process leave workers for calls that need none. The lanes, which limit
how many calls of one kind run, are in node/service.h and controller/service.h."""
import grpc
import pytest

from client import refused
from daemon import wait_for
from host import KERNEL_ZFS, SIZE, Volume
from pages import page

CODE = grpc.StatusCode
MANY = 30  # number of calls, more than either daemon runs at a time
FULL = 16  # number of calls that fill a lane of zcsi-node, also through the controller
SOON = 10  # timeout of a call that waits for nothing, in seconds


@pytest.fixture
def busy(new_host, gate):
    """The published volume `data` on a host that calls zfs through the gate and serves metrics."""
    host = new_host(env=gate.env)
    host.node_daemon.metrics = f"{host.folder}/metrics"
    host.node_daemon.argv += ["--metrics", f"unix://{host.node_daemon.metrics}"]
    return Volume(host.start(), "data").up()


def in_flight(host):
    text = page(host.node_daemon, "/metrics")[1]
    return int(dict(line.rsplit(" ", 1) for line in text.splitlines())["zcsi_rpc_in_flight"])


def fill(host, gate, n=FULL):
    wait_for(lambda: in_flight(host) >= n, f"{n} calls")
    gate.arrived()


def unpublish(volume):
    volume.host.node.NodeUnpublishVolume(volume_id=volume.id, target_path=volume.target,
                                         timeout=SOON)


def check_served(volume):
    host = volume.host
    host.node.NodeGetVolumeStats(volume_id=volume.id, volume_path=volume.target, timeout=SOON)
    unpublish(volume)
    assert "data" in [row.id for row in host.agent.ListDatasets(timeout=SOON).datasets]
    assert host.agent.GetDataset(id="data", timeout=SOON).dataset.id == "data"
    assert host.controller.ListVolumes(timeout=SOON).entries
    assert host.controller.ControllerGetVolume(volume_id="data", timeout=SOON).volume


def check_answered(calls, gate, code):
    assert not any(call.done() for call in calls)
    gate.open()
    assert {call.code() for call in calls} == {code}


def test_creates_that_wait_delay_no_other_call(busy, gate):
    gate.hold(" create ")
    calls = [Volume(busy.host, f"v{n}").start_create() for n in range(MANY)]
    fill(busy.host, gate)
    check_served(busy)
    check_answered(calls, gate, CODE.OK)


def test_lookups_that_wait_delay_no_other_call(busy, gate):
    gate.hold("data@x")
    calls = [busy.host.agent.GetDatasetSnapshot.future(id=f"data@x{n}") for n in range(MANY)]
    fill(busy.host, gate, MANY)
    check_served(busy)
    Volume(busy.host, "other").create()
    check_answered(calls, gate, CODE.NOT_FOUND)


if not KERNEL_ZFS:  # zcsi-node runs `zfs mount` only with zfs-fuse
    def test_mounts_that_wait_delay_no_other_call(busy, gate):
        volumes = [Volume(busy.host, f"v{n}") for n in range(MANY)]
        for call in [volume.start_create() for volume in volumes]:
            call.result()
        gate.hold(" mount ")
        calls = [volume.host.node.NodeStageVolume.future(
            volume_id=volume.id, staging_target_path=volume.staging,
            volume_capability=volume.capability) for volume in volumes]
        fill(busy.host, gate, MANY)
        check_served(busy)
        Volume(busy.host, "other").create()
        check_answered(calls, gate, CODE.OK)


def test_the_first_reading_of_the_pool_delays_no_unmount(busy, gate):
    host = busy.host
    host.node_daemon.stop()
    gate.hold(" get -rHp ")
    host.node_daemon.start()
    host.node = host.node_daemon.client()
    agent = host.node_daemon.client(f"unix:{host.agent_socket}")
    calls = [agent.ListDatasetSnapshots.future() for _ in range(MANY)]
    fill(host, gate, MANY)
    unpublish(busy)
    check_answered(calls, gate, CODE.OK)


def test_a_change_that_waits_for_others_does_not_delay_the_unmount_of_its_volume(busy, gate):
    gate.hold(" create ")
    calls = [Volume(busy.host, f"v{n}").start_create() for n in range(MANY)]
    fill(busy.host, gate)
    calls.append(busy.host.agent.ResizeDataset.future(id="data", size=2 * SIZE))
    fill(busy.host, gate, FULL + 1)
    unpublish(busy)
    check_answered(calls, gate, CODE.OK)
    assert busy.record().size == 2 * SIZE


def test_a_change_that_waits_too_long_for_others_does_nothing(busy, gate):
    gate.hold(" create ")
    calls = [Volume(busy.host, f"v{n}").start_create() for n in range(MANY)]
    fill(busy.host, gate)
    with refused(CODE.UNAVAILABLE, CODE.DEADLINE_EXCEEDED):
        busy.host.agent.ResizeDataset(id="data", size=2 * SIZE, timeout=1)
    check_answered(calls, gate, CODE.OK)
    assert busy.record().size == SIZE
