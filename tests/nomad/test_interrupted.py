# SPDX-License-Identifier: MPL-2.0
"""The controller dies while it makes a volume; the operator gives the command again."""
import os
import signal
import subprocess

from host import datasets
from nomad import PROGRAM, process, spec, tried, until


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_a_create_whose_controller_dies(zcsi, create):
    node, controller = process("zcsi-node"), process("zcsi-controller")
    before = descriptors(controller)
    os.kill(node, signal.SIGSTOP)  # so that the call is under way for as long as is needed
    try:
        asking = subprocess.Popen([PROGRAM, "volume", "create", "-"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        asking.stdin.write(spec("once", capacity_min="16MiB"))
        asking.stdin.close()
        until(lambda: descriptors(controller) > before, "Nomad's call reaches the controller")
        os.kill(controller, signal.SIGKILL)
    finally:
        os.kill(node, signal.SIGCONT)
    asking.stdout.read()
    assert asking.wait() != 0
    until(lambda: process("zcsi-controller") not in (None, controller), "another controller")
    until(lambda: tried(create, "once", capacity_min="16MiB"), "the volume is created")
    assert datasets(zcsi) == [f"{zcsi}/once"]
