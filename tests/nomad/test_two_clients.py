# SPDX-License-Identifier: MPL-2.0
"""A second client joins, with a pool of its own. A volume is used where it is, and waits for it.
Its agent dies; and with two clients there may be two controllers."""
import os
import signal
import subprocess
import time
from datetime import datetime
from pathlib import Path

import pytest

from client import PATIENCE
from host import datasets
from nomad import (
    PROGRAM, SOON, Refused, accepted, api, blocked, drained, healthy, kill, paused, processes, read,
    spec, told, until, volume_create, volume_delete)


@pytest.fixture
def far(create, second):
    """A volume on n2, once the controller has been told of n2."""
    accepted(create, "far", node="n2")
    return "far"


@pytest.fixture
def user(far, consumer):
    made = consumer("user", far).started()
    assert made.allocs[0]["NodeName"] == "n2"
    made.write("words", "on n2")
    return made


def test_a_volume_is_used_where_it_is(second, user):
    assert datasets(second.dataset) == [f"{second.dataset}/far"]


def test_a_topology_that_is_nowhere(second):
    with pytest.raises(Refused, match="no pool for volume 'lost'.*n3.*the pools are: .*n2"):
        volume_create("lost", node="n3")


def test_when_its_client_is_drained_it_waits(second, user):
    with drained(second.id):
        until(lambda: blocked("user"), "it is placed nowhere")
        assert "did not meet topology requirement" in " ".join(blocked("user"))
    user.started()
    assert user.allocs[0]["NodeName"] == "n2"
    assert user.read("words") == "on n2"


def seen(node, begin):
    """How many seconds after `begin` that client saw zcsi-node healthy; 0 when it has not."""
    found = api(f"node/{node}")["CSINodePlugins"].get("zcsi", {})
    if not found.get("Healthy"):
        return 0
    return max(0, datetime.fromisoformat(found["UpdateTime"]).timestamp() - begin)


def test_its_nomad_agent_is_killed(second, user, create):
    """A client tells its servers what it has seen up to 10 seconds later."""
    alloc = user.allocs[0]["ID"]
    second.agent.kill()
    assert user.read("words") == "on n2"
    begin = time.time()
    second.agent.start()
    after = until(lambda: seen(second.id, begin), "it is healthy again")
    assert after < SOON * PATIENCE
    assert user.started().allocs[0]["ID"] == alloc
    assert user.read("words") == "on n2"
    user.stop()
    volume_delete("far")
    assert datasets(second.dataset) == []


def of_node(name):
    """The zcsi-node of that client."""
    return next(pid for pid in processes("zcsi-node")
                if f"\0--node-id\0{name}\0" in read(Path("/proc", str(pid), "cmdline")))


def test_its_host_is_dead(second, user):
    """No volume is made, for the dead one might have it; what is there is used on."""
    second.agent.kill()
    os.kill(of_node("n2"), signal.SIGKILL)
    try:
        with pytest.raises(Refused, match="agent 'tcp://10.74.0.2:9740' did not say"):
            volume_create("lost")
    finally:
        second.agent.start()
    accepted(volume_create, "found")
    volume_delete("found")
    assert user.started().read("words") == "on n2"


def callers(controller):
    """How many connections it has: Nomad makes one for each call."""
    place = told(controller, "CSI_ENDPOINT").removeprefix("unix://")
    return read(Path("/proc", str(controller), "net/unix")).count(place)


def create_cut_short(id):
    """The controller that Nomad asks to create the volume is killed meanwhile, as by kill()."""
    before = {pid: callers(pid) for pid in processes("zcsi-controller")}
    with paused("zcsi-node"):  # so that the call is under way for as long as is needed
        asking = subprocess.Popen([PROGRAM, "volume", "create", "-"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        asking.stdin.write(spec(id, capacity_min="16MiB"))
        asking.stdin.close()
        asked = until(lambda: next((pid for pid in before if callers(pid) > before[pid]), None),
                      "Nomad's call reaches a controller")
        settle = kill(asked)
        text = asking.stdout.read()
        assert asking.wait() != 0, text
    return settle


@pytest.mark.parametrize("count", [1, 2])
def test_the_controller_dies_while_it_makes_a_volume(zcsi, second, controllers, create, count):
    controllers(count)
    try:
        until(lambda: healthy("Controllers", count), f"{count} controllers")
        settle = create_cut_short("once")
        accepted(create, "once", capacity_min="16MiB")
        made = [name for parent in (zcsi, second.dataset) for name in datasets(parent)]
        assert [name.rsplit("/", 1)[1] for name in made] == ["once"]
        settle()
    finally:
        controllers(1)
        until(lambda: healthy("Controllers", 1), "one controller")
