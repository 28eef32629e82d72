# SPDX-License-Identifier: MPL-2.0
"""A second client joins, with a pool of its own. A volume is used where it is, and waits for it.
Its agent dies; and with two clients there may be two controllers."""
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from daemon import wait_for
from host import datasets
from nomad import (
    PROGRAM, SOON, api, blocked, drained, healthy, paused, processes, read, spec, tried, until,
    volume_delete)


@pytest.fixture
def far(create, second):
    """A volume on n2, once the controller has been told of n2."""
    until(lambda: tried(create, "far", parameters={"node": "n2"}), "a volume on n2")
    return "far"


@pytest.fixture
def user(far, consumer):
    made = consumer("user", far).started()
    assert made.allocs[0]["NodeName"] == "n2"
    made.write("words", "on n2")
    return made


def test_a_volume_is_used_where_it_is(second, user):
    assert datasets(second.dataset) == [f"{second.dataset}/far"]


def test_when_its_client_is_drained_it_waits(second, user):
    with drained(second.id):
        until(lambda: blocked("user"), "it is placed nowhere")
        assert "did not meet topology requirement" in " ".join(blocked("user"))
    user.started()
    assert user.allocs[0]["NodeName"] == "n2"
    assert user.read("words") == "on n2"


def seen(node):
    """When that client saw zcsi-node healthy first; None when it is not."""
    found = api(f"node/{node}")["CSINodePlugins"].get("zcsi", {})
    return found["UpdateTime"] if found.get("Healthy") else None


def test_its_nomad_agent_is_killed(second, user, create):
    before, alloc = seen(second.id), user.allocs[0]["ID"]
    second.agent.kill()
    assert user.read("words") == "on n2"
    second.agent.start()
    wait_for(lambda: seen(second.id) not in (None, before), "it is healthy again", seconds=SOON)
    assert user.started().allocs[0]["ID"] == alloc
    assert user.read("words") == "on n2"
    user.stop()
    volume_delete("far")
    assert datasets(second.dataset) == []


def callers(controller):
    """How many connections it has: Nomad makes one for each call."""
    place = Path("/proc", str(controller))
    endpoint = re.search(r"CSI_ENDPOINT=unix://([^\0]+)", read(place / "environ"))
    return read(place / "net/unix").count(endpoint[1])


def create_cut_short(id):
    """The controller that Nomad asks to create the volume is killed meanwhile."""
    before = {pid: callers(pid) for pid in processes("zcsi-controller")}
    with paused("zcsi-node"):  # so that the call is under way for as long as is needed
        asking = subprocess.Popen([PROGRAM, "volume", "create", "-"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        asking.stdin.write(spec(id, capacity_min="16MiB"))
        asking.stdin.close()
        asked = until(lambda: next((pid for pid in before if callers(pid) > before[pid]), None),
                      "Nomad's call reaches a controller")
        os.kill(asked, signal.SIGKILL)
        text = asking.stdout.read()
        assert asking.wait() != 0, text


@pytest.mark.parametrize("count", [1, 2])
def test_the_controller_dies_while_it_makes_a_volume(zcsi, second, controllers, create, count):
    controllers(count)
    try:
        until(lambda: healthy("Controllers", count), f"{count} controllers")
        create_cut_short("once")
        until(lambda: tried(create, "once", capacity_min="16MiB"), "the volume is created")
        made = [name for parent in (zcsi, second.dataset) for name in datasets(parent)]
        assert [name.rsplit("/", 1)[1] for name in made] == ["once"]
    finally:
        controllers(1)
        until(lambda: healthy("Controllers", 1), "one controller")
