# SPDX-License-Identifier: MPL-2.0
"""Calls that wait for a zfs process leave workers for calls that need none. The lanes, which limit
how many calls of one kind run, are in node/service.h and controller/service.h."""
import os

import grpc
import pytest

from client import refused
from daemon import wait_for
from host import KERNEL_ZFS, run, SIZE, Volume

CODE = grpc.StatusCode
MANY = 30  # number of calls, more than either daemon runs at a time
CHANGES = 8  # number of calls that these lanes of zcsi-node run at a time (node/lanes.h)
LOOKUPS = 4
RENAMED = 2  # number of calls that look up a mount under another name at a time
SOON = 10  # timeout of a call that waits for nothing, in seconds


@pytest.fixture
def busy(new_host, gate):
    """The published volume `data` on a host that calls zfs through the gate."""
    return Volume(new_host(env=gate.env).start(), "data").up()


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
    gate.arrived(CHANGES)
    check_served(busy)
    check_answered(calls, gate, CODE.OK)


def test_lookups_that_wait_delay_no_other_call(busy, gate):
    gate.hold("data@x")
    calls = [busy.host.agent.GetDatasetSnapshot.future(id=f"data@x{n}") for n in range(MANY)]
    gate.arrived(LOOKUPS)
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
        gate.arrived()  # the others wait for its turn: one mount at a time with zfs-fuse
        check_served(busy)
        Volume(busy.host, "other").create()
        check_answered(calls, gate, CODE.OK)


def test_the_first_reading_of_the_pool_delays_no_unmount(busy, gate):
    """The calls that wait for it delay neither an unmount nor a call for a volume that is known."""
    host = busy.host
    host.node_daemon.stop()
    gate.hold(" get -rHp ")
    host.node_daemon.start()
    host.node = host.node_daemon.client()
    agent = host.node_daemon.client(f"unix:{host.agent_socket}")
    lists = agent.ListDatasetSnapshots, agent.ListDatasets, agent.ListTrash, agent.ListNames
    calls = [method.future() for method in lists for _ in range(CHANGES)]
    groups = [agent.GetSnapshotGroup.future(group=f"g{n}") for n in range(CHANGES)]
    gate.arrived()
    assert agent.GetDataset(id="data", timeout=SOON).dataset.id == "data"
    unpublish(busy)
    check_answered(calls, gate, CODE.OK)
    assert {call.code() for call in groups} == {CODE.NOT_FOUND}


def test_mounts_of_renamed_volumes_delay_no_other_unmount(busy, gate):
    """A zfs process says whether a mount under another name is the volume's."""
    host, mine = busy.host, busy.host.dataset("mine")
    volumes = [Volume(host, f"v{n}") for n in range(CHANGES)]
    run("zfs", "create", "-o", f"mountpoint={host.folder}/mine", mine)
    for volume in volumes:
        os.mkdir(volume.target)
        run("mount", "--bind", f"{host.folder}/mine", volume.target)
    gate.hold("source,value")
    calls = [host.node.NodeUnpublishVolume.future(volume_id=volume.id, target_path=volume.target)
             for volume in volumes]
    gate.arrived(RENAMED)
    wait_for(lambda: sum(call.done() for call in calls) == CHANGES - RENAMED, "others are refused")
    unpublish(busy)
    gate.open()
    assert sorted(call.code().name for call in calls) == \
        ["FAILED_PRECONDITION"] * RENAMED + ["UNAVAILABLE"] * (CHANGES - RENAMED)
    assert "try again" in " ".join(call.details() for call in calls)
    for volume in volumes:
        run("umount", volume.target)
    run("zfs", "set", "mountpoint=none", mine)


def test_a_change_that_waits_for_others_does_not_delay_the_unmount_of_its_volume(busy, gate):
    gate.hold(" create ")
    calls = [Volume(busy.host, f"v{n}").start_create() for n in range(MANY)]
    gate.arrived(CHANGES)
    calls.append(busy.host.agent.ResizeDataset.future(id="data", size=2 * SIZE))
    busy.host.agent.ListDatasets()  # on the same connection, so the call before it has arrived
    unpublish(busy)
    check_answered(calls, gate, CODE.OK)
    assert busy.record().size == 2 * SIZE


def test_a_change_that_waits_too_long_for_others_does_nothing(busy, gate):
    gate.hold(" create ")
    calls = [Volume(busy.host, f"v{n}").start_create() for n in range(MANY)]
    gate.arrived(CHANGES)
    with refused(CODE.UNAVAILABLE, CODE.DEADLINE_EXCEEDED):
        busy.host.agent.ResizeDataset(id="data", size=2 * SIZE, timeout=1)
    check_answered(calls, gate, CODE.OK)
    assert busy.record().size == SIZE
