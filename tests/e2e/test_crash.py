# SPDX-License-Identifier: MPL-2.0
"""kill -9 at a random moment, restart, repeat the call: the result is that without a crash."""
import math
import os
import random
import time

import grpc
import pytest

from client import PATIENCE, refused
from daemon import wait_for
from host import SIZE, Volume

CODE = grpc.StatusCode
ROUNDS = math.ceil(8 / PATIENCE)


@pytest.fixture
def moments():
    """A function that returns a random moment within a call; the seed is printed."""
    seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
    print(f"SEED={seed}")
    choice = random.Random(seed)
    return lambda longest: choice.uniform(0, longest * PATIENCE)


def killed_in(daemon, call, moment):
    """Kill the daemon `moment` seconds after the call was sent and return the call's code."""
    time.sleep(moment)
    daemon.kill()
    return call.code()


STEPS = ("create", "attach", "stage", "publish", "expand",
         "unpublish", "unstage", "detach", "delete")


def request_of(volume, step):
    """Send the request of a step and return its future."""
    csi, node = volume.host.controller, volume.host.node
    ids = {"volume_id": volume.id}
    staging = {**ids, "staging_target_path": volume.staging}
    can = {"volume_capability": volume.capability}
    return {
        "create": lambda: csi.CreateVolume.future(**volume.request()),
        "attach": lambda: csi.ControllerPublishVolume.future(**ids, **can, node_id="n1"),
        "stage": lambda: node.NodeStageVolume.future(**staging, **can),
        "publish": lambda: node.NodePublishVolume.future(
            **staging, **can, target_path=volume.target),
        "expand": lambda: csi.ControllerExpandVolume.future(
            **ids, capacity_range={"required_bytes": 2 * SIZE}),
        "unpublish": lambda: node.NodeUnpublishVolume.future(**ids, target_path=volume.target),
        "unstage": lambda: node.NodeUnstageVolume.future(**staging),
        "detach": lambda: csi.ControllerUnpublishVolume.future(**ids, node_id="n1"),
        "delete": lambda: csi.DeleteVolume.future(**ids),
    }[step]()


@pytest.mark.parametrize("which", ["node_daemon", "controller_daemon"])
@pytest.mark.parametrize("at", range(len(STEPS)), ids=STEPS)
def test_a_step_is_repeated_after_a_kill(host, moments, which, at):
    for turn in range(ROUNDS):
        volume = Volume(host, f"v{turn}")
        os.makedirs(volume.staging)
        for step in STEPS:
            call = request_of(volume, step)
            if step == STEPS[at]:
                daemon = getattr(host, which)
                killed_in(daemon, call, moments(0.03))
                host.restart(daemon)
                call = request_of(volume, step)
            call.result()
            holds(host, volume, step)


def holds(host, volume, step):
    """Check the state after a step, which may have been started several times."""
    here = STEPS.index(step)
    staged = STEPS.index("stage") <= here < STEPS.index("unstage")
    published = STEPS.index("publish") <= here < STEPS.index("unpublish")
    points = [point for point, _ in host.mounts()]
    assert points.count(volume.staging) == staged and points.count(volume.target) == published
    assert os.path.lexists(volume.target) == published
    assert host.leaves() == ([] if step == "delete" else [volume.id])
    if STEPS.index("expand") <= here < STEPS.index("delete"):
        assert volume.record().size == 2 * SIZE


def test_calls_wait_while_a_zfs_of_the_killed_node_runs(gated, gate):
    volume = Volume(gated, "data")
    gate.hold("/data ")
    call = volume.start_create()
    gate.arrived()
    gated.node_daemon.kill()
    assert call.code() == CODE.UNAVAILABLE
    gated.node_daemon.start()
    wait_for(lambda: "fuser -v /run/zcsi/" in gated.agent.GetHost().problem, "it waits for the zfs")
    with refused(CODE.UNAVAILABLE, CODE.DEADLINE_EXCEEDED):
        gated.agent.GetDataset(id="data", timeout=1)
    found = gated.agent.GetDataset.future(id="data")
    gate.open()
    assert found.result().dataset.size == SIZE
    gated.wait_for_agent()
    volume.create()
    assert gated.leaves() == gated.ids() == ["data"]


def test_a_workload_does_not_notice(host, volume):
    volume.up()
    with open(f"{volume.target}/log", "wb", buffering=0) as log:
        for daemon in (host.node_daemon, host.controller_daemon):
            log.write(b"before ")
            daemon.kill()
            log.write(b"down ")
            host.restart(daemon)
            log.write(b"after ")
    with open(f"{volume.target}/log", "rb") as log:
        assert log.read() == b"before down after " * 2
    volume.down().delete()


def test_a_controller_finds_its_agent_again(host, volume):
    volume.create()
    host.node_daemon.kill()
    with pytest.raises(grpc.RpcError) as seen:
        volume.attach()
    assert seen.value.code() == CODE.UNAVAILABLE
    host.restart(host.node_daemon)
    wait_for(lambda: attached(volume), "the controller reaches the agent again")


def attached(volume):
    call = request_of(volume, "attach")
    assert call.code() in (CODE.OK, CODE.UNAVAILABLE)
    return call.code() == CODE.OK
