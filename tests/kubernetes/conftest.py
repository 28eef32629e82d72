# SPDX-License-Identifier: MPL-2.0
"""Fixtures: one cluster for the session, with the manifests of jobs/kubernetes on two nodes. A
missing prerequisite is an error, never a skip. Everything runs in namespaces of its own, which
tests/kubernetes/alone creates and which end with the session."""
import contextlib
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from client import ROOT  # noqa: E402
from control import PROGRAMS, Control  # noqa: E402
from daemon import BUILD  # noqa: E402
from host import mounts, run  # noqa: E402
from installed import Cluster  # noqa: E402
from objects import User  # noqa: E402
from pool import Pools  # noqa: E402

collect_ignore = ["real"]  # which has a cluster of its own
POOL_MB = 512


def pytest_configure(config):
    missing = [path for path in (BUILD / "zcsi-node", PROGRAMS / "kube-apiserver")
               if not path.exists()]
    if missing:
        raise pytest.UsageError(f"there is no {missing[0]}: run make kubernetes")
    if "n1" not in (name for _, name in socket.if_nameindex()):
        raise pytest.UsageError("run it by tests/kubernetes/alone")


@pytest.fixture(scope="session")
def folder():
    """Path of a new folder, short enough for sockets below it."""
    made = tempfile.mkdtemp(prefix="k8s-", dir="/run")
    yield Path(made)
    run("rm", "-rf", "--one-file-system", made)


@pytest.fixture(scope="session")
def pool(folder):
    pools = Pools(folder)
    yield pools.create("kpool", POOL_MB)
    for point, _ in reversed(mounts(f"{folder}/")):
        subprocess.run(["umount", "-l", point], check=True)
    pools.close()


@pytest.fixture(scope="session")
def control(folder):
    with contextlib.closing(Control(folder / "control")) as made:
        yield made.start()


@pytest.fixture(scope="session")
def cluster(control, pool, folder):
    with contextlib.closing(Cluster(control, pool, folder)) as made:
        yield made.start(ROOT / "jobs/kubernetes")
        assert not made.refused()


@pytest.fixture
def user(cluster):
    """A user, whose pods, claims and snapshots are deleted after the test, and must be gone then,
    with all volumes."""
    made = User(cluster)
    yield made
    for resource in ("pods", "volumesnapshots", "persistentvolumeclaims"):
        made.delete(resource, *(each["metadata"]["name"]
                                for each in made.api.list(resource, "default")))
    made.until(lambda: not made.api.list("persistentvolumes"), "all volumes are gone")
    made.until(lambda: not made.api.list("volumeattachments"), "nothing is attached")
