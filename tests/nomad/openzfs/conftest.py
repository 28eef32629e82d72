# SPDX-License-Identifier: MPL-2.0
"""What needs a kernel with ZFS and NFS: it runs in the lab's machine, by tests/nomad/alone."""
import contextlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "e2e/openzfs"))

from namespaces import Here  # noqa: E402
from nfs import Server  # noqa: E402


@pytest.fixture(scope="session")
def server():
    """n1's NFS server."""
    with contextlib.closing(Server(Here)) as made:
        yield made.start()
