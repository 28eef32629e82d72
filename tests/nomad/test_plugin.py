# SPDX-License-Identifier: MPL-2.0
"""Both jobs make one plugin, which is healthy."""
import pytest

from client import PATIENCE
from daemon import BUILD
from host import run
from nomad import SOON, allocations, nomad


def test_its_status(zcsi):
    rows = dict(row.split("=", 1) for row in nomad("plugin", "status", "zcsi").splitlines()
                if "=" in row)
    status = {key.strip(): value.strip() for key, value in rows.items()}
    assert status["Version"] == run(BUILD / "zcsi-node", "--version").split()[-1]
    assert status["Provider"] == "zcsi.zfs"
    assert {status[f"{kind} {what}"] for kind in ("Controllers", "Nodes")
            for what in ("Healthy", "Expected")} == {"1"}


@pytest.mark.parametrize("job", ["zcsi-node", "zcsi-controller"])
def test_it_is_healthy_soon(zcsi, job):
    """Nomad looks when the process begins. Before it listens that is in vain, and the next look 10
    seconds later. A client tells its servers what it has seen, and so `nomad plugin status`, up to
    10 seconds after that."""
    alloc, = allocations(job)
    at = {event["Type"]: event["Time"] for event in alloc["TaskStates"][job]["Events"]}
    assert 0 < at["Plugin became healthy"] - at["Started"] < SOON * PATIENCE * 1e9
