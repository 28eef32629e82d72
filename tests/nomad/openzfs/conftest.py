# SPDX-License-Identifier: MPL-2.0
"""Fixtures of tests that need ZFS and NFS in the kernel. They run in the lab's virtual machine, in
the namespaces of tests/nomad/alone."""
import contextlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "e2e/openzfs"))

from namespaces import Here  # noqa: E402
from nfs import Server  # noqa: E402


@pytest.fixture(scope="session")
def server():
    """The NFS server of n1."""
    with contextlib.closing(Server(Here)) as made:
        yield made.start()
