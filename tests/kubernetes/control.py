# SPDX-License-Identifier: MPL-2.0
"""The control plane of Kubernetes as processes of this host, and kubectl."""
import json
import os
import signal
import subprocess

from api import Api, Refused
from client import ROOT
from daemon import BUILD, wait_for
from host import run

PROGRAMS = BUILD / "kubernetes"
ADDRESSES = {"n1": "10.74.0.1", "n2": "10.74.0.2"}  # created by tests/nomad/alone
SERVICE_ADDRESS = "10.96.0.1"  # the API server, for pods
ADMIN = "admin-of-the-tests"
CONTROLLERS = (
    "daemonset-controller", "deployment-controller", "replicaset-controller",
    "disruption-controller", "endpointslice-controller", "serviceaccount-controller",
    "serviceaccount-token-controller", "root-ca-certificate-publisher-controller",
    "namespace-controller", "garbage-collector-controller", "persistentvolume-binder-controller",
    "persistentvolume-attach-detach-controller", "persistentvolume-expander-controller",
    "persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller",
    "volumeattributesclass-protection-controller")


class Process:
    """A program that runs until it is stopped; its output goes to a file."""

    def __init__(self, folder, name, *argv, prefix=(), env=None):
        self.log = folder / f"{name}.log"
        self.argv = [str(word) for word in (*prefix, *argv)]
        self.env = {**os.environ, **(env or {})}
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.argv, env=self.env, stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL)
        return self

    def running(self):
        return self.process is not None and self.process.poll() is None

    def stop(self, number=signal.SIGTERM):
        if self.running():
            self.process.send_signal(number)
            self.process.wait(60)

    def text(self):
        return self.log.read_text(errors="replace")


class Control:
    """etcd, the API server, the controllers that zcsi meets, the scheduler and the snapshot
    controller."""

    def __init__(self, folder, port=6443, controllers=CONTROLLERS):
        self.folder, self.port, self.controllers = folder, port, controllers
        self.ca = folder / "ca.pem"
        server = f"https://{ADDRESSES['n1']}:{port}"
        run(ROOT / "jobs/local/certs", folder,
            f"kubernetes,{ADDRESSES['n1']},{SERVICE_ADDRESS},127.0.0.1")
        (folder / "tokens").write_text(f'{ADMIN},admin,1,"system:masters"\n')
        self.api = Api(server, self.ca, ADMIN)
        self.config = folder / "kubeconfig"
        self.config.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {
                "server": server, "certificate-authority": str(self.ca)}}],
            "users": [{"name": "test", "user": {"token": ADMIN}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}]}))
        self.processes = {}

    def start(self):
        self.launch("etcd", "--data-dir", self.folder / "etcd-data", "--unsafe-no-fsync")
        key, public = self.folder / "accounts.key", self.folder / "accounts.pub"
        run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-out", key)
        run("openssl", "pkey", "-in", key, "-pubout", "-out", public)
        self.launch(
            "kube-apiserver", "--etcd-servers=http://127.0.0.1:2379",
            f"--advertise-address={ADDRESSES['n1']}", f"--secure-port={self.port}",
            f"--tls-cert-file={self.folder}/kubernetes.pem",
            f"--tls-private-key-file={self.folder}/kubernetes.key",
            f"--token-auth-file={self.folder}/tokens", "--authorization-mode=RBAC",
            f"--service-account-key-file={public}", f"--service-account-signing-key-file={key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.96.0.0/16", "--allow-privileged=true",
            "--kubelet-preferred-address-types=InternalIP")
        wait_for(self.ready, "the API server is ready", seconds=60, pause=0.1)
        config = f"--kubeconfig={self.config}"
        self.launch("kube-controller-manager", config, "--leader-elect=false",
                    f"--service-account-private-key-file={key}", f"--root-ca-file={self.ca}",
                    f"--controllers={','.join(self.controllers)}")
        self.launch("kube-scheduler", config, "--leader-elect=false")
        self.kubectl("apply", "-f", PROGRAMS / "crd")
        self.launch("snapshot-controller", config,
                    "--feature-gates=CSIVolumeGroupSnapshot=true")
        return self

    def launch(self, name, *args):
        self.processes[name] = Process(self.folder, name, PROGRAMS / name, *args).start()

    def ready(self):
        process = self.processes["kube-apiserver"]
        assert process.running(), process.text()[-3000:]
        try:
            return self.api.get("namespaces", "kube-system")
        except (OSError, Refused):
            return False

    def try_kubectl(self, *words, text=None):
        return subprocess.run([PROGRAMS / "kubectl", f"--kubeconfig={self.config}", *words],
                              input=text, capture_output=True, text=True, timeout=120)

    def kubectl(self, *words, text=None):
        """Run kubectl and return its output."""
        done = self.try_kubectl(*words, text=text)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def apply(self, *objects):
        return self.kubectl("apply", "-f", "-",
                            text="\n---\n".join(json.dumps(each) for each in objects))

    def close(self):
        for process in reversed(self.processes.values()):
            process.stop()
