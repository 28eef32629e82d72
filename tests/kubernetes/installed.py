# SPDX-License-Identifier: MPL-2.0
"""A cluster of two nodes on which zcsi is installed by its manifests."""
import contextlib
import os
import threading

from api import Refused
from client import ROOT
from control import ADDRESSES, PROGRAMS
from daemon import wait_for
from host import datasets, run
from kubelet import Kubelet

NAMESPACE = "zcsi-system"
SERVICE = f"zcsi-node.{NAMESPACE}.svc"
# Each node has a dataset of its own, because the pool of both is one.
OVERLAY = """
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: zcsi-system
resources:
  - {manifests}
patches:
  - target: {{kind: DaemonSet, name: zcsi-node}}
    patch: |-
      - op: replace
        path: /spec/template/spec/containers/0/env/2
        value: {{name: ZCSI_DATASET, value: {pool}/$(NODE)}}
"""


class Names(threading.Thread):
    """The name server of the cluster: the addresses of the Service of zcsi-node in /etc/hosts."""

    def __init__(self, addresses, file):
        super().__init__(daemon=True)
        self.addresses, self.file = addresses, file
        self.ending = threading.Event()
        self.file.write_text("127.0.0.1 localhost\n")
        run("mount", "--bind", file, "/etc/hosts")  # in the test's own namespace

    def run(self):
        while not self.ending.wait(0.5):
            with contextlib.suppress(OSError, Refused):
                self.look()

    def look(self):
        lines = [f"{address} {SERVICE}\n" for address in self.addresses()]
        text = "".join(["127.0.0.1 localhost\n", *lines])
        if text != self.file.read_text():
            self.file.write_text(text)

    def stop(self):
        self.ending.set()
        if self.is_alive():
            self.join()


class Cluster:
    def __init__(self, control, pool, folder):
        self.control, self.api, self.pool, self.folder = control, control.api, pool, folder
        self.begin()

    def begin(self):
        """Make the nodes and the name server."""
        self.kubelets = {name: Kubelet(self.control, name, self.folder) for name in ADDRESSES}
        self.names = Names(self.addresses, self.folder / "hosts")

    def addresses(self):
        """Return those of the Service of zcsi-node."""
        slices = self.api.list("endpointslices", NAMESPACE,
                               labelSelector="kubernetes.io/service-name=zcsi-node")
        return sorted({address for each in slices for endpoint in each["endpoints"] or ()
                       for address in endpoint["addresses"]})

    def install(self, manifests):
        """Type what the guide says: the certificates, their Secrets, and the manifests."""
        certificates = self.folder / "certificates"
        run(ROOT / "jobs/local/certs", certificates, "controller.zcsi", "operator.zcsi",
            f"node.zcsi,{SERVICE},{','.join(ADDRESSES)}")
        self.control.kubectl("apply", "-f", manifests / "base/namespace.yaml")
        kubectl = f"{PROGRAMS}/kubectl --kubeconfig={self.control.config}"
        run("env", f"KUBECTL={kubectl}", manifests / "secrets", certificates)
        overlay = self.folder / "overlay"
        overlay.mkdir()
        relative = os.path.relpath(manifests / "snapshots", overlay.resolve())
        (overlay / "kustomization.yaml").write_text(
            OVERLAY.format(manifests=relative, pool=self.pool))
        self.control.kubectl("apply", "-k", overlay)

    def add_control_plane(self):
        """Add a node without a pool and without a kubelet, on which only pods run that tolerate
        every taint."""
        taint = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
        self.api.create("nodes", {
            "metadata": {"name": "control", "labels": {"kubernetes.io/os": "linux"}},
            "spec": {"taints": [taint]}})

    def start(self, manifests):
        self.install(manifests)
        self.add_control_plane()
        self.names.start()
        for name, kubelet in self.kubelets.items():
            run("zfs", "create", "-o", "mountpoint=none", f"{self.pool}/{name}")
            kubelet.join_cluster()
            self.control.kubectl("label", "node", name, "zcsi.zfs/pool=true")
        self.until(self.registered, "both nodes are registered")
        self.until(self.led, "the sidecars have leaders")
        return self

    def until(self, condition, what, seconds=90):
        """Wait for a condition; if it fails, say what the cluster and the nodes say."""
        try:
            return wait_for(condition, what, seconds, pause=0.2)
        except AssertionError as error:
            said = [self.control.kubectl("get", "pods,volumeattachments", "-A", "-o", "wide"),
                    self.control.kubectl("get", "events", "-A", "--sort-by=.lastTimestamp")[-3000:],
                    *(f"{log.name}: {log.read_text()[-600:]}"
                      for log in self.folder.glob("n?/zcsi-*.log")),
                    *self.problems()[-4:]]
            raise AssertionError("\n".join([str(error), *said])) from error

    def registered(self):
        return len(self.api.list("csinodes")) == len(self.kubelets)

    def led(self):
        return len([lease for lease in self.api.list("leases", NAMESPACE)
                    if lease["spec"].get("holderIdentity")]) >= 4

    def problems(self):
        return [problem for kubelet in self.kubelets.values() for problem in kubelet.problems]

    def refused(self):
        """Return what the API server has not permitted the sidecars to do."""
        return [line for log in self.folder.glob("n?/zcsi-controller-*.log")
                for line in log.read_text(errors="replace").splitlines() if "forbidden" in line]

    def leaves(self, node):
        parent = f"{self.pool}/{node}/"
        return sorted(name[len(parent):] for name in datasets(parent.rstrip("/"))
                      if name.startswith(parent))

    def kept(self, node):
        """Return the datasets of a node's volumes that are not in the trash."""
        return [name for name in self.leaves(node) if not name.startswith("_")]

    def processes(self, name):
        """Return the processes of the pods of zcsi whose names begin with this one."""
        return [process for kubelet in self.kubelets.values()
                for pod in list(kubelet.pods.values()) if pod.name.startswith(name)
                for process in pod.processes.values()]

    def close(self):
        for kubelet in self.kubelets.values():
            kubelet.stop()
        self.names.stop()
