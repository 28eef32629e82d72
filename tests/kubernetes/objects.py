# SPDX-License-Identifier: MPL-2.0
"""Objects that users of Kubernetes make, and waiting for what becomes of them."""
from pathlib import Path

SIZE = "64Mi"


def claim(name, size=SIZE, storage_class="zcsi", mode="ReadWriteOnce", **spec):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"accessModes": [mode], "storageClassName": storage_class,
                     "resources": {"requests": {"storage": size}}, **spec}}


def pod(name, *claims, node=None, **spec):
    selector = {"nodeSelector": {"kubernetes.io/hostname": node}} if node else {}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"terminationGracePeriodSeconds": 1, **selector,
                     "containers": [{"name": "main", "image": "example/none"}],
                     "volumes": [{"name": each, "persistentVolumeClaim": {"claimName": each}}
                                 for each in claims], **spec}}


def snapshot(name, of):
    return {"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"volumeSnapshotClassName": "zcsi",
                     "source": {"persistentVolumeClaimName": of}}}


class User:
    """Someone who applies objects and waits for them."""

    def __init__(self, cluster):
        self.cluster, self.api = cluster, cluster.api

    def until(self, condition, what):
        return self.cluster.until(condition, what)

    def apply(self, *objects):
        self.cluster.control.apply(*objects)

    def node_of(self, name):
        """Wait until a pod runs, and return its node."""
        def running():
            found = self.api.get("pods", name, "default")
            return found["status"].get("phase") == "Running" and found["spec"]["nodeName"]
        return self.until(running, f"pod {name} runs")

    def volume_of(self, name):
        """Wait until a claim is bound, and return its PersistentVolume."""
        def bound():
            found = self.api.get("persistentvolumeclaims", name, "default")
            return found["status"]["phase"] == "Bound" and found["spec"]["volumeName"]
        return self.api.get("persistentvolumes", self.until(bound, f"claim {name} is bound"))

    def path(self, name, volume):
        """Return where a pod has the volume of a claim."""
        kubelet = self.cluster.kubelets[self.node_of(name)]
        uid = self.api.get("pods", name, "default")["metadata"]["uid"]
        return Path(kubelet.pods[uid].claims[volume][1])

    def dataset(self, volume):
        """Return the dataset of a claim's volume."""
        found = self.volume_of(volume)
        terms = found["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        node = terms[0]["matchExpressions"][0]["values"][0]
        return f"{self.cluster.pool}/{node}/{found['spec']['csi']['volumeHandle']}"

    def events_of(self, name):
        """Return the messages about an object."""
        return "\n".join(each["message"] for each in self.api.list(
            "events", "default", fieldSelector=f"involvedObject.name={name}"))

    def delete(self, resource, *names):
        for name in names:
            self.api.delete(resource, name, "default")
        for name in names:
            self.until(lambda name=name: not self.api.get(resource, name, "default"),
                       f"{resource} {name} is gone")
