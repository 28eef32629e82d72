# SPDX-License-Identifier: MPL-2.0
"""Fixtures: a cluster of one node with a real kubelet and containerd, on which zcsi runs as its
manifests say, in containers of its own image."""
import contextlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from client import ROOT  # noqa: E402
from control import ADDRESSES, CONTROLLERS, SERVICE_ADDRESS, Control  # noqa: E402
from host import run  # noqa: E402
from images import all_images  # noqa: E402
from installed import SERVICE, Cluster  # noqa: E402
from names import NameServer  # noqa: E402
from node import Node  # noqa: E402


# These also take the taint of a new node away, and evict the pods of one that is not ready.
LIFECYCLE = (*CONTROLLERS, "node-lifecycle-controller", "taint-eviction-controller")


class RealCluster(Cluster):
    def begin(self):
        self.kubelets = {"n1": Node(self.control, "n1", self.folder)}
        self.names = NameServer(ADDRESSES["n1"], SERVICE, self.addresses)

    def add_control_plane(self):
        """No node without a kubelet."""

    def start(self, manifests):
        sidecars = {line.split()[-1] for file in manifests.rglob("*.yaml")
                    for line in file.read_text().splitlines() if "image: registry" in line}
        (self.folder / "images").mkdir()
        self.kubelets["n1"].load(all_images(self.folder / "images", sidecars))
        return super().start(manifests)


@pytest.fixture(scope="session")
def control(folder):
    """Pods reach the API server at the address of its Service."""
    run("ip", "address", "add", f"{SERVICE_ADDRESS}/32", "dev", "lo")
    with contextlib.closing(Control(folder / "control", 443, LIFECYCLE)) as made:
        yield made.start()


@pytest.fixture(scope="session")
def cluster(control, pool, folder):
    with contextlib.closing(RealCluster(control, pool, folder)) as made:
        yield made.start(ROOT / "jobs/kubernetes")
