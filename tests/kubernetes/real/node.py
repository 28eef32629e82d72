# SPDX-License-Identifier: MPL-2.0
"""A node whose kubelet and containerd are real. Its folders are those of this host, in the mount
namespace of the tests, but for what is large, which is on disk."""
import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path

from control import ADDRESSES, PROGRAMS, Process
from daemon import accepts, wait_for
from host import run
from images import PAUSE

SOCKET = "/run/containerd/containerd.sock"
CGROUP = "zcsi-tests"
CONTAINERD = """
version = 2
root = "{disk}/containerd"
state = "/run/containerd"
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{folder}/cni"
"""
NETWORK = {"cniVersion": "0.4.0", "name": "pods", "plugins": [
    {"type": "bridge", "bridge": "pods", "isGateway": True,
     "ipam": {"type": "host-local", "dataDir": "/run/cni", "subnet": "10.75.0.0/24",
              "routes": [{"dst": "0.0.0.0/0"}]}}]}
# The tests' hosts may have cgroups of version 1, swap, and little room.
KUBELET = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
    "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"}, "containerRuntimeEndpoint": f"unix://{SOCKET}",
    "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{CGROUP}", "failCgroupV1": False,
    "failSwapOn": False, "enforceNodeAllocatable": ["none"], "makeIPTablesUtilChains": False,
    "evictionHard": {"memory.available": "0%", "nodefs.available": "0%",
                     "nodefs.inodesFree": "0%", "imagefs.available": "0%"},
    "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
    "localStorageCapacityIsolation": False, "clusterDomain": "cluster.local"}


def cgroup_folders():
    """Return the folder of the tests in each hierarchy of cgroups."""
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        return [root / CGROUP]
    return [each / CGROUP for each in root.iterdir() if (each / "cgroup.procs").exists()]


class Node:
    def __init__(self, control, name, folder):
        self.control, self.name, self.folder = control, name, folder / name
        self.problems = []
        self.disk = Path(tempfile.mkdtemp(prefix="zcsi-kubelet-", dir="/var/tmp"))
        (self.disk / "kubelet").mkdir()
        (self.folder / "cni").mkdir(parents=True)
        os.makedirs("/var/lib/kubelet", exist_ok=True)
        run("mount", "--bind", self.disk / "kubelet", "/var/lib/kubelet")
        run("mount", "--make-rshared", "/var/lib/kubelet")
        (self.folder / "cni/pods.conflist").write_text(json.dumps(NETWORK))
        (self.folder / "containerd.toml").write_text(
            CONTAINERD.format(folder=self.folder, disk=self.disk, socket=SOCKET, pause=PAUSE))
        (self.folder / "kubelet.json").write_text(
            json.dumps({**KUBELET, "clusterDNS": [ADDRESSES[name]]}))
        self.containerd = Process(self.folder, "containerd", "containerd", "--config",
                                  self.folder / "containerd.toml")
        self.kubelet = Process(
            self.folder, "kubelet", PROGRAMS / "kubelet",
            f"--config={self.folder}/kubelet.json", f"--kubeconfig={control.config}",
            f"--hostname-override={name}", f"--node-ip={ADDRESSES[name]}")

    def load(self, images):
        self.containerd.start()
        wait_for(lambda: accepts(SOCKET), "containerd answers", 60)
        for image in images:
            subprocess.run(["ctr", "-n", "k8s.io", "images", "import", "-"], input=image,
                           stdout=subprocess.DEVNULL, check=True)

    def join_cluster(self):
        for each in cgroup_folders():
            each.mkdir(exist_ok=True)
        self.kubelet.start()
        wait_for(lambda: self.control.api.get("nodes", self.name), "kubelet makes its node", 120)

    def kill_kubelet(self):
        self.kubelet.stop(signal.SIGKILL)
        self.kubelet.start()

    def stop(self):
        """Stop both. Containers that are left, and their mounts, end with the namespaces."""
        self.kubelet.stop()
        self.containerd.stop()
        subprocess.run(["rm", "-rf", "--one-file-system", self.disk], check=False)
