# SPDX-License-Identifier: MPL-2.0
"""Two controllers without knowledge of each other, and agents that are stopped and killed."""
import contextlib
import os
import random
import signal
import threading

import grpc
import pytest

from client import capability, PATIENCE, size_of, topology
from cluster import Cluster
from host import SIZE

CODE = grpc.StatusCode
SNAPSHOTS = 50 // PATIENCE
TIMES = int(os.environ.get("TIMES", 1000 // PATIENCE))
AT_ONCE = 8
# Codes that a call may return while agents are stopped and killed.
PASSING = {CODE.UNAVAILABLE, CODE.DEADLINE_EXCEEDED, CODE.ABORTED}


@pytest.fixture(scope="module")
def three(pools):
    return [pools.create(f"two{n}x{os.getpid()}") for n in range(3)]


@pytest.fixture
def cluster(three):
    with contextlib.closing(Cluster(three, controllers=2)) as made:
        yield made


class Trouble(threading.Thread):
    """A thread that stops one agent after another for a while, or kills and restarts it, until
    end() is called."""

    def __init__(self, hosts, seed):
        super().__init__()
        self.hosts, self.random = hosts, random.Random(seed)
        self.over = threading.Event()
        self.done = {"stopped": 0, "killed": 0}

    def run(self):
        while not self.over.wait(self.random.uniform(0, 0.2)):
            daemon = self.random.choice(self.hosts).node_daemon
            if self.random.random() < 0.3:
                daemon.kill()
                daemon.start()
                self.done["killed"] += 1
            else:
                daemon.signal(signal.SIGSTOP)
                self.over.wait(self.random.uniform(0, 0.4))
                daemon.signal(signal.SIGCONT)
                self.done["stopped"] += 1

    def end(self):
        self.over.set()
        self.join()


def create(controller, name, timeout=10):
    return controller.CreateVolume.future(
        timeout=timeout, name=name, capacity_range=size_of(SIZE),
        volume_capabilities=[capability()])


def place(call):
    return call.result().volume.accessible_topology[0].segments["zcsi.zfs/node"]


def race(cluster, names, timeout=10):
    """Create each name through both controllers at once. Return, for each name, the nodes that the
    successful responses name."""
    calls = [(name, create(controller, name, timeout)) for name in names
             for controller in cluster.controllers]
    answered = {name: set() for name in names}
    for name, call in calls:
        assert call.code() in {CODE.OK} | PASSING, call.details()
        if call.code() is CODE.OK:
            answered[name].add(place(call))
    return answered


def settle(cluster, answered):
    """Repeat each call once no agent is disturbed: all calls for a name succeed with the same node,
    which alone has the dataset."""
    cluster.settled()
    for name in answered:
        for controller in cluster.controllers:
            answered[name].add(place(create(controller, name, 60)))
    assert cluster.where() == {name: list(places) for name, places in answered.items()}


def test_a_name_is_one_volume(cluster):
    names = [f"v{n}" for n in range(100)]
    answered = {}
    for at in range(0, len(names), AT_ONCE):
        answered.update(race(cluster, names[at:at + AT_ONCE], 60))
    assert all(len(places) == 1 for places in answered.values())
    settle(cluster, answered)


def snapshot_of(controller, source, name):
    return controller.CreateSnapshot.future(source_volume_id=source, name=name)


def group_of(controller, source, name):
    return controller.CreateVolumeGroupSnapshot.future(source_volume_ids=[source], name=name)


def takers(cluster, sources, take, name):
    """Take a snapshot of each of two volumes on two hosts, through both controllers at once, with
    the same name. Return the volumes for which that succeeded."""
    calls = {source: take(controller, source, name)
             for controller, source in zip(cluster.controllers, sources)}
    for call in calls.values():
        assert call.code() in {CODE.OK, CODE.ALREADY_EXISTS}, call.details()
    return [source for source, call in calls.items() if call.code() is CODE.OK]


@pytest.mark.parametrize("take", [snapshot_of, group_of])
def test_a_name_is_one_snapshot(cluster, take):
    sources = ["on-a", "on-b"]
    for source, node in zip(sources, "ab"):
        cluster.hosts[0].controller.CreateVolume(
            name=source, capacity_range=size_of(SIZE), volume_capabilities=[capability()],
            accessibility_requirements=topology(node))
    for n in range(SNAPSHOTS):
        taken = takers(cluster, sources, take, f"s{n}")
        assert len(taken) == 1
        assert takers(cluster, sources, take, f"s{n}") == taken
    assert len(cluster.controllers[0].ListSnapshots().entries) == SNAPSHOTS


# The test creates and destroys a thousand volumes, which takes minutes.
@pytest.mark.timeout(900)
def test_a_name_is_one_volume_while_agents_are_killed(cluster):
    trouble = Trouble(cluster.hosts, seed=7)
    answered = {}
    trouble.start()
    try:
        for at in range(0, TIMES, AT_ONCE):
            names = [f"v{n}" for n in range(at, min(at + AT_ONCE, TIMES))]
            answered.update(race(cluster, names))
    finally:
        trouble.end()
    assert min(trouble.done.values()) > 0
    settle(cluster, answered)
