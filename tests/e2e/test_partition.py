# SPDX-License-Identifier: MPL-2.0
"""Calls while the network between controller and agents is bad, while an agent is killed, or when
a pool is full: they return the right codes in time, and a repeat leads to the right state."""
import contextlib
import os

import grpc
import pytest

from client import refused, size_of, topology
from cluster import Cluster
from daemon import wait_for
from host import get, run, SIZE, Volume

CODE = grpc.StatusCode


@pytest.fixture
def new_cluster(pool):
    with contextlib.ExitStack() as stack:
        def make(pools=(pool, pool), **kwargs):
            return stack.enter_context(contextlib.closing(Cluster(pools, **kwargs)))
        yield make


@pytest.fixture
def wired(new_cluster):
    return new_cluster(wired=True, controller_args=("--roll-call", "1"))


def calls_of(host, name):
    """Return method and fields of every kind of call about a volume, in the order of its life."""
    volume = Volume(host, name)
    of_it = {"volume_id": name}
    here = {**of_it, "node_id": host.node_id}
    return {
        "create": ("CreateVolume", volume.request(
            accessibility_requirements=topology(host.node_id))),
        "get": ("ControllerGetVolume", of_it),
        "publish": ("ControllerPublishVolume", {**here, "volume_capability": volume.capability}),
        "unpublish": ("ControllerUnpublishVolume", here),
        "expand": ("ControllerExpandVolume", {**of_it, "capacity_range": size_of(2 * SIZE)}),
        "modify": ("ControllerModifyVolume", {
            **of_it, "mutable_parameters": {"zfs.compression": "gzip"}}),
        "snapshot": ("CreateSnapshot", {"source_volume_id": name, "name": f"s-{name}"}),
        "unsnapshot": ("DeleteSnapshot", {"snapshot_id": f"{name}@s-{name}"}),
        "delete": ("DeleteVolume", of_it),
    }


def begin(host, call, timeout=60):
    method, fields = call
    return getattr(host.controller, method).future(timeout=timeout, **fields)


def perform(host, call):
    return begin(host, call).result()


def test_all_calls_succeed_over_a_slow_network(wired):
    for wire in wired.wires:
        wire.delay = 0.1
    for host in wired.hosts:
        for call in calls_of(host, f"v-{host.node_id}").values():
            perform(host, call)
    assert wired.where() == {}


@pytest.mark.parametrize("way", ["there", "back"])
def test_a_one_way_loss_fails_only_calls_for_that_host(wired, way):
    a, b = wired.hosts
    near = Volume(a, "near").create(accessibility_requirements=topology("a")).volume.volume_id
    wired.wires[1].lose(way)
    for call in calls_of(b, "far").values():
        with refused(CODE.UNAVAILABLE, naming=wired.wires[1].path):
            begin(b, call, timeout=4).result()
    a.controller.ControllerGetVolume(volume_id=near, timeout=5)
    Volume(a, "near").attach(timeout=5)
    wired.wires[1].mend()
    wired.settled()
    # Earlier requests arrive late; they are dropped, because their calls were cancelled.
    assert wired.where() in ({"near": ["a"]}, {"near": ["a"], "far": ["b"]})
    for call in calls_of(b, "far").values():
        perform(b, call)
    assert wired.where() == {"near": ["a"]}


STEPS = {  # a text in the arguments of the zfs command that each call runs, and of no `zfs get`
    "create": " create ", "publish": "zcsi:published=", "unpublish": "zcsi:published=",
    "expand": "refquota=", "modify": "compression=", "snapshot": " snapshot ",
    "unsnapshot": " destroy ", "delete": " destroy "}


def test_calls_are_repeated_after_a_kill_of_their_agent(new_cluster, gate):
    cluster = new_cluster(env=gate.env, controller_args=("--roll-call", "1"))
    b = cluster.hosts[1]
    for name, call in calls_of(b, "data").items():
        if name in STEPS:
            gate.hold(STEPS[name])
            pending = begin(b, call)
            gate.arrived()
            b.node_daemon.kill()
            wait_for(pending.done, f"{name} is answered")
            assert pending.code() is CODE.UNAVAILABLE, f"{name}: {pending.details()}"
            assert b.agent_socket in pending.details()
            gate.open()
            gate.match("(none)")
            b.restart(b.node_daemon)
            b.controller = cluster.controllers[0]
            cluster.settled()
        perform(b, call)
        assert cluster.where() == ({"data": ["b"]} if name != "delete" else {})


@pytest.fixture
def small(pools):
    return pools.create(f"small{os.getpid()}", 128)


def test_a_full_pool_is_resource_exhausted(pool, small, new_cluster):
    cluster = new_cluster(pools=(pool, small), node_args=("--rescan", "1"))
    a, b = cluster.hosts
    thick = {"provisioning": "thick"}
    with refused(CODE.RESOURCE_EXHAUSTED, naming=("data", "space")):
        Volume(b, "data", size=1 << 30).create(
            accessibility_requirements=topology("b"), parameters=thick)
    assert cluster.where() == {}
    free = int(get(small, "available"))
    run("zfs", "create", "-o", "mountpoint=none", "-o", f"refreservation={free - SIZE // 2}",
        f"{small}/hog")
    wait_for(lambda: b.agent.GetHost().available < SIZE, "the pool is read")
    with refused(CODE.RESOURCE_EXHAUSTED, naming=("data", "space")):
        Volume(b, "data").create(accessibility_requirements=topology("b"), parameters=thick)
    # The volume is created on the host with room, whatever the order of the topologies.
    made = Volume(a, "data").create(parameters=thick).volume
    assert made.accessible_topology[0].segments["zcsi.zfs/node"] == "a"
    run("zfs", "destroy", f"{small}/hog")
    Volume(b, "other").create(accessibility_requirements=topology("b"), parameters=thick)
    assert cluster.where() == {"data": ["a"], "other": ["b"]}
