# SPDX-License-Identifier: MPL-2.0
"""A daemon is in use soon after it was killed; and no allocation loses its volume."""
import os
import signal

import pytest

from daemon import wait_for
from nomad import SOON, api, healthy, nomad, processes, tried, until, volume

DAEMONS = ["zcsi-node", "zcsi-controller"]


@pytest.fixture
def user(create, consumer):
    create("data")
    made = consumer("user", "data").started()
    made.write("words", "kept")
    return made


def kill(program):
    before = processes(program)
    os.kill(*before, signal.SIGKILL)
    return before


@pytest.mark.parametrize("program", DAEMONS)
def test_a_daemon_is_killed(user, create, consumer, program):
    """Nomad looks whether it is healthy every 30 seconds, and the controller for zcsi-node after a
    pause."""
    before = kill(program)
    wait_for(lambda: processes(program) not in ([], before), f"another {program}", seconds=SOON)
    until(lambda: healthy("Nodes", 1) and healthy("Controllers", 1), "both are healthy")
    assert user.read("words") == "kept"
    until(lambda: tried(create, "more"), "a volume is created")
    consumer("another", "more").started().write("words", "new")


def delete_or_detach():
    """Nomad does not unpublish a volume when it knows no healthy controller as its job ends."""
    node, = api("nodes")
    deleted = tried(nomad, "volume", "delete", "data")
    return deleted or tried(nomad, "volume", "detach", "data", node["ID"])


@pytest.mark.parametrize("program", DAEMONS)
def test_a_job_is_stopped_while_a_daemon_is_gone(user, program):
    kill(program)
    nomad("job", "stop", "-detach", user.job)
    until(lambda: not volume("data")["Allocations"], "Nomad lists no claim")
    until(lambda: delete_or_detach() and not volume("data"), "the volume is deleted")
