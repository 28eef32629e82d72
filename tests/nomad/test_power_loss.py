# SPDX-License-Identifier: MPL-2.0
"""A host that is a server and a client of Nomad loses its power. When it is back, the client starts
its allocations while the servers have no leader yet."""
import contextlib
import os
import signal
from pathlib import Path

import pytest

from daemon import BUILD
from host import mounts, run
from nomad import PROGRAM, accepted, api, volume_create, volume_delete

# With this configuration the election of a leader takes 10 to 20 seconds: longer than a client
# repeats a call that needs a leader.
SLOW = "server { raft_multiplier = 10 }"
ENDING = {str(path) for path in (PROGRAM, BUILD / "zcsi-node", BUILD / "zcsi-controller")}


def program_of(process):
    try:
        return os.readlink(process / "exe")
    except OSError:
        return ""


def lose_power(agent):
    """End Nomad, its tasks and their executors at once, with all mounts in the agent's folder."""
    agent.process.kill()
    for process in Path("/proc").glob("[0-9]*"):
        if program_of(process) in ENDING:
            with contextlib.suppress(ProcessLookupError):  # the process has ended since
                os.kill(int(process.name), signal.SIGKILL)
    agent.process.wait()
    for point, _ in reversed(mounts(f"{agent.data}/")):
        run("umount", "-l", point)


@pytest.fixture
def slow(agent, tmp_path):
    """The agent, which the test starts again with a slow election. Afterwards it runs as before."""
    config = tmp_path / "slow.hcl"
    config.write_text(SLOW)
    before = agent.argv
    agent.argv = [*before, "-config", config]
    yield agent
    agent.argv = before
    agent.stop()
    agent.start()
    accepted(volume_create, "after")  # succeeds once both daemons are used again
    volume_delete("after")


def alloc_ids(job):
    return [found["ID"] for found in api(f"job/{job}/allocations", [])]


def test_zcsi_node_returns_after_a_power_loss(zcsi, slow, create):
    create("data")
    before = alloc_ids("zcsi-node")
    lose_power(slow)
    slow.start()
    accepted(create, "more")
    assert alloc_ids("zcsi-node") == before
    for each in ("data", "more"):
        volume_delete(each)
