# SPDX-License-Identifier: MPL-2.0
"""Fixtures of tests that need ZFS and NFS in the kernel. They run in the lab's virtual machine, in
the namespaces of tests/nomad/alone."""
import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "e2e/openzfs"))

from client import PATIENCE  # noqa: E402
from daemon import BUILD  # noqa: E402
from namespaces import Here  # noqa: E402
from nfs import Server  # noqa: E402
from nomad import ADDRESSES  # noqa: E402


@pytest.fixture(scope="session")
def server():
    """The NFS server of n1."""
    with contextlib.closing(Server(Here)) as made:
        yield made.start()


@pytest.fixture
def zcsi_command(certificates):
    """A function that runs zcsi as an operator and returns its rows, and its exit status."""
    folder = str(certificates)
    agents = [word for address in ADDRESSES.values()
              for word in ("--agent", f"tcp://{address}:9740")]
    def call(*args):
        done = subprocess.run(
            [BUILD / "zcsi", "--timeout", str(3 * PATIENCE), *agents,
             "--tls-ca", f"{folder}/ca.pem",
             "--tls-cert", f"{folder}/operator.zcsi.pem",
             "--tls-key", f"{folder}/operator.zcsi.key", *args, "-Hp"],
            capture_output=True, text=True, check=False)
        return [line.split("\t") for line in done.stdout.splitlines()], done
    return call
