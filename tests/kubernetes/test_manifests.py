# SPDX-License-Identifier: MPL-2.0
"""jobs/kubernetes: the API server accepts each manifest, and its own rules allow what the sidecars
do and no more."""
import pytest

from client import ROOT
from installed import NAMESPACE

MANIFESTS = ROOT / "jobs/kubernetes"
CONTROLLER = f"--as=system:serviceaccount:{NAMESPACE}:zcsi-controller"


@pytest.mark.parametrize("name", ["base", "snapshots"])
def test_the_api_server_accepts_the_manifests(cluster, name):
    said = cluster.control.kubectl("apply", "--dry-run=server", "-k", MANIFESTS / name)
    assert "daemonset.apps/zcsi-node" in said and "(server dry run)" in said


def test_the_api_server_accepts_the_example(cluster):
    said = cluster.control.kubectl("apply", "--dry-run=server", "-f", MANIFESTS / "example.yaml")
    assert "pod/database created" in said


def test_the_api_server_accepts_the_class_of_encrypted_volumes(cluster):
    said = cluster.control.kubectl("apply", "--dry-run=server", "-k", MANIFESTS / "encrypted")
    assert "storageclass.storage.k8s.io/zcsi-encrypted created" in said


def test_a_node_without_a_pool_has_no_zcsi_node(cluster):
    wanted = cluster.api.get("daemonsets", "zcsi-node", NAMESPACE)["status"]
    assert wanted["desiredNumberScheduled"] == len(cluster.kubelets)


def test_the_manifests_for_cert_manager_are_built(control):
    built = control.kubectl("kustomize", MANIFESTS / "certmanager")
    for name in ("zcsi-node-tls", "zcsi-controller-tls"):
        assert built.count(f"secretName: {name}") == 2  # the certificate, and its reader


def can(cluster, *words):
    done = cluster.control.try_kubectl("auth", "can-i", *words)
    return done.stdout.strip() == "yes"


def test_the_sidecars_may_do_what_they_need_and_no_more(cluster):
    assert can(cluster, "create", "persistentvolumes", CONTROLLER)
    assert can(cluster, "patch", "leases.coordination.k8s.io", "-n", NAMESPACE, CONTROLLER)
    for words in (("delete", "persistentvolumeclaims"), ("create", "pods"), ("patch", "nodes"),
                  ("get", "secrets"), ("list", "pods"), ("patch", "leases.coordination.k8s.io")):
        assert not can(cluster, *words, "-n", "default", CONTROLLER)
    node = f"--as=system:serviceaccount:{NAMESPACE}:zcsi-node"
    assert not can(cluster, "get", "nodes", node)
