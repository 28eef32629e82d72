# SPDX-License-Identifier: MPL-2.0
"""A daemon that was killed is soon replaced, and no allocation loses its volume."""
import pytest

from daemon import wait_for
from nomad import (
    SOON, accepted, healthy, job_stop, kill, mounted, nomad, processes, until, volume,
    volume_delete)

DAEMONS = ["zcsi-node", "zcsi-controller"]


@pytest.fixture
def user(create, consumer):
    create("data")
    made = consumer("user", "data").started()
    made.write("words", "kept")
    return made


@pytest.mark.parametrize("program", DAEMONS)
def test_a_killed_daemon_is_restarted_and_volumes_stay_in_use(user, create, consumer, program):
    before = processes(program)
    settle = kill(*before)
    wait_for(lambda: processes(program) not in ([], before), f"another {program}", seconds=SOON)
    accepted(create, "more")
    assert user.read("words") == "kept"
    settle()
    consumer("another", "more").started().write("words", "new")


@pytest.mark.parametrize("program", DAEMONS)
def test_a_job_is_stopped_while_a_daemon_is_gone(user, consumer, program):
    """If Nomad has no healthy controller when a job ends, it unpublishes the volume later, once a
    controller is healthy. If zcsi-node does not answer, Nomad releases the claim at once and tries
    to unmount again after 2, 4, 8 ... seconds; an allocation that starts in between fails."""
    settle = kill(*processes(program))
    nomad("job", "stop", "-detach", user.job)
    until(lambda: not volume("data")["Allocations"], "Nomad lists no claim")
    until(lambda: not mounted(user.allocs[0]["ID"]), "Nomad has unmounted the volume")
    settle()
    assert consumer("next", "data").started().read("words") == "kept"


def test_a_volume_is_deleted_although_its_job_ended_without_a_controller(user, controllers):
    """Nomad releases the claim without unpublishing the volume."""
    job_stop("zcsi-controller")
    try:
        nomad("job", "stop", "-detach", user.job)
        until(lambda: not volume("data")["Allocations"], "Nomad lists no claim")
        until(lambda: not mounted(user.allocs[0]["ID"]), "Nomad has unmounted the volume")
    finally:
        controllers(1)
        until(lambda: healthy("Controllers", 1), "there is a controller again")
    volume_delete("data")
