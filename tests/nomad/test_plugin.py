# SPDX-License-Identifier: MPL-2.0
"""Both jobs register as one plugin, which becomes healthy."""
import re

import pytest

from client import PATIENCE, ROOT
from daemon import BUILD
from host import run
from nomad import SOON, allocations, nomad


def test_plugin_status_has_version_provider_and_health(zcsi):
    rows = dict(row.split("=", 1) for row in nomad("plugin", "status", "zcsi").splitlines()
                if "=" in row)
    status = {key.strip(): value.strip() for key, value in rows.items()}
    assert status["Version"] == run(BUILD / "zcsi-node", "--version").split()[-1]
    assert status["Provider"] == "zcsi.zfs"
    assert {status[f"{kind} {what}"] for kind in ("Controllers", "Nodes")
            for what in ("Healthy", "Expected")} == {"1"}


@pytest.mark.parametrize("job", ["zcsi-node", "zcsi-controller"])
def test_a_started_daemon_is_soon_healthy(zcsi, job):
    """Nomad probes when the process starts. If the daemon does not listen by then, the next probe
    is 10 seconds later. A client reports to its servers, whose state `nomad plugin status` shows,
    up to 10 seconds after a probe. A client that is restarted adds another event of health."""
    alloc, = allocations(job)
    events = alloc["TaskStates"][job]["Events"]
    at = {event["Type"]: event["Time"] for event in reversed(events)}
    assert 0 < at["Plugin became healthy"] - at["Started"] < SOON * PATIENCE * 1e9


def test_zcsi_asks_the_agents_that_nomad_lists(zcsi, certificates, tmp_path):
    """The list is made by the command that jobs/README.md gives for it."""
    guide = (ROOT / "jobs/README.md").read_text()
    template = re.search(r"nomad service info -t '(.*)' zcsi-agent", guide)[1]
    agents = tmp_path / "agents"
    agents.write_text(nomad("service", "info", "-t", template, "zcsi-agent"))
    for caller in ("controller.zcsi", "n1"):  # nodes may ask each other too
        listed = run(BUILD / "zcsi", "nodes", "-H", "--agents-file", agents, "--tls-ca",
                     certificates / "ca.pem", "--tls-cert", certificates / f"{caller}.pem",
                     "--tls-key", certificates / f"{caller}.key")
        assert listed.startswith("n1\t") and listed.endswith("\tok\n")
