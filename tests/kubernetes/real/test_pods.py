# SPDX-License-Identifier: MPL-2.0
"""Pods use volumes by a real kubelet: their containers write into datasets, while zcsi-node and
kubelet are killed and replaced."""
import json
import os
import signal

import pytest

from host import get
from images import BUSYBOX
from installed import NAMESPACE
from objects import claim, pod, snapshot
from processes import of_program


def shell(name, script, *claims, **spec):
    """A pod whose container has each claim at /CLAIM and runs a script, then waits."""
    made = pod(name, *claims, **spec)
    made["metadata"]["labels"] = {"app": "user"}
    made["spec"]["containers"] = [{
        "name": "main", "image": BUSYBOX, "command": ["sh", "-c", f"{script}\nsleep 100000 & wait"],
        "volumeMounts": [{"name": each, "mountPath": f"/{each}"} for each in claims]}]
    return made


@pytest.fixture
def kubectl(cluster):
    return cluster.control.kubectl


@pytest.fixture
def writer(user):
    """A pod that has written into the claim `data`."""
    user.apply(claim("data"), shell("writer", "echo kept >/data/file", "data"))
    user.node_of("writer")


@pytest.fixture
def reads(user, kubectl):
    """A function that starts a pod with a claim and returns what is in its file."""
    def read(name, of="data"):
        user.apply(shell(name, "true", of))
        user.node_of(name)
        return kubectl("exec", name, "--", "cat", f"/{of}/file")
    return read


def daemons(cluster):
    """Return the process ids of zcsi-node, which runs in a container."""
    done = cluster.control.kubectl("get", "pods", "-n", NAMESPACE, "-l",
                                   "app.kubernetes.io/name=zcsi-node", "-o", "json")
    assert len(json.loads(done)["items"]) == 1
    return of_program("zcsi-node")


def test_a_container_writes_into_a_dataset_and_another_one_reads_it(user, writer, reads):
    assert get(user.dataset("data"), "refquota") == str(64 << 20)
    user.delete("pods", "writer")
    assert reads("reader") == "kept\n"


def test_the_group_of_a_pod_may_write(user, kubectl):
    user.apply(claim("data"), shell("writer", "echo kept >/data/file", "data", securityContext={
        "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 2000}))
    user.node_of("writer")
    assert kubectl("exec", "writer", "--", "stat", "-c", "%g", "/data/file") == "2000\n"


def test_a_volume_grows_in_its_container(user, writer, kubectl):
    user.apply(claim("data", size="128Mi"))
    user.until(lambda: kubectl("exec", "writer", "--", "df", "-m", "/data").split()[-5] == "128",
               "the container sees its new size")


def test_a_snapshot_becomes_another_volume(user, writer, kubectl, reads):
    kubectl("exec", "writer", "--", "sync")
    user.apply(snapshot("monday", "data"))
    user.until(lambda: user.api.get("volumesnapshots", "monday", "default").get("status", {}).get(
        "readyToUse"), "the snapshot is ready")
    kubectl("exec", "writer", "--", "sh", "-c", "echo new >/data/file")
    source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "monday"}
    user.apply(claim("restored", storage_class="zcsi-immediate", dataSource=source))
    assert reads("reader", "restored") == "kept\n"


def test_a_container_keeps_its_volume_when_kubelet_is_killed(user, writer, kubectl, reads):
    user.cluster.kubelets["n1"].kill_kubelet()
    user.until(lambda: user.cluster.control.try_kubectl(
        "exec", "writer", "--", "cat", "/data/file").stdout == "kept\n", "kubelet is back")
    user.delete("pods", "writer")
    assert reads("reader") == "kept\n"


def test_a_container_keeps_its_volume_when_zcsi_node_is_killed(user, writer, kubectl, reads):
    killed = daemons(user.cluster)
    for each in killed:
        os.kill(each, signal.SIGKILL)
    assert kubectl("exec", "writer", "--", "cat", "/data/file") == "kept\n"
    user.apply(claim("more"), shell("other", "echo more >/more/file", "more"))
    user.node_of("other")
    assert killed and not set(killed) & set(daemons(user.cluster))
    user.delete("pods", "writer", "other")
    assert reads("reader") == "kept\n"


def test_a_container_keeps_its_volume_when_zcsi_node_is_replaced(user, writer, kubectl, reads):
    kubectl("rollout", "restart", "-n", NAMESPACE, "daemonset/zcsi-node")
    kubectl("rollout", "status", "-n", NAMESPACE, "daemonset/zcsi-node", "--timeout=100s")
    assert kubectl("exec", "writer", "--", "cat", "/data/file") == "kept\n"
    user.delete("pods", "writer")
    assert reads("reader") == "kept\n"


def test_a_drained_node_gives_its_volumes_back(user, writer, kubectl, reads):
    kubectl("drain", "n1", "--force", "--pod-selector=app=user", "--timeout=100s")
    kubectl("uncordon", "n1")
    assert reads("reader") == "kept\n"


def test_zcsi_runs_in_the_pod_of_zcsi_node(user, writer, kubectl):
    """As the guide of Kubernetes has it."""
    said = kubectl("-n", NAMESPACE, "exec", "ds/zcsi-node", "--", "zcsi", "list", "-H")
    assert said.split()[0].startswith("pvc-")
