# SPDX-License-Identifier: MPL-2.0
"""Capabilities of each daemon, started by root or by another user, and of the programs it runs."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from daemon import BUILD
from host import Volume
from processes import capabilities, children, status
from units import NOBODY, settings

DELEGATION = {"CAP_SETUID", "CAP_SETGID"}
NAMES = set(settings("zcsi-node")["CapabilityBoundingSet"]) - DELEGATION
NUMBERS = {line.split()[1]: int(line.split()[2])
           for line in Path("/usr/include/linux/capability.h").read_text().splitlines()
           if line.startswith("#define CAP_") and line.split()[-1].isdigit()}
KEPT = sum(1 << NUMBERS[name] for name in NAMES) & capabilities("self")["CapPrm"]
NODE = {"CapInh": 0, "CapPrm": KEPT, "CapEff": KEPT, "CapBnd": KEPT, "CapAmb": 0}


def test_the_node_keeps_only_the_capabilities_it_needs(host):
    pid = host.node_daemon.process.pid
    assert capabilities(pid) == NODE
    assert status(pid)["NoNewPrivs"] == "1"


def test_programs_of_the_node_have_no_other_capabilities(gated, gate):
    gate.hold("create")
    call = Volume(gated, "data").start_create()
    gate.arrived()
    found = children(gated.node_daemon.process.pid)
    assert found
    for child in found:
        assert capabilities(child) == NODE
        assert status(child)["NoNewPrivs"] == "1"
    gate.open()
    call.result()


def test_the_controller_has_no_capabilities(host):
    pid = host.controller_daemon.process.pid
    assert set(capabilities(pid).values()) == {0}
    assert status(pid)["NoNewPrivs"] == "1"


@pytest.mark.parametrize("program", ["zcsi-node", "zcsi-controller"])
def test_a_daemon_starts_without_root(tmp_path, program):
    """A user other than root cannot change the bounding set; the daemon starts without doing so."""
    os.chmod(tmp_path, 0o755)
    path = shutil.copy(BUILD / program, tmp_path)
    done = subprocess.run(
        ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", path,
         "--endpoint", "unix:///nonexistent/a.sock"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "/nonexistent" in done.stderr and "capabilities" not in done.stderr
