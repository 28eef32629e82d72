# SPDX-License-Identifier: MPL-2.0
"""The part of kubelet that zcsi and its sidecars notice: finding CSI drivers, running containers of
pods, as processes, and staging and publishing their volumes. Containers of other images than zcsi
and the sidecars are not run: the tests use their volumes themselves."""
import base64
import hashlib
import os
import re
import shutil
import signal
import threading
import time
import traceback
from pathlib import Path

from api import Refused
from client import Client, csi
from control import ADDRESSES, PROGRAMS, Process
from daemon import BUILD

HOME = "/var/lib/kubelet"
DRIVER = "zcsi.zfs"
MODES = {"ReadWriteOnce": "SINGLE_NODE_MULTI_WRITER", "ReadOnlyMany": "MULTI_NODE_READER_ONLY",
         "ReadWriteMany": "MULTI_NODE_MULTI_WRITER",
         "ReadWriteOncePod": "SINGLE_NODE_SINGLE_WRITER"}


def program_of(container):
    """Return the file of a container's program, or None for an image that tests do not run."""
    name = (container.get("command") or [container["image"].split("/")[-1].split(":")[0]])[0]
    return next((path for path in (BUILD / name, PROGRAMS / name) if path.is_file()), None)


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Pod:
    """A pod of this node: its processes and its volumes."""

    def __init__(self, kubelet, pod):
        self.kubelet, self.api, self.pod = kubelet, kubelet.control.api, pod
        self.name, self.namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        self.folder = kubelet.home / "pods" / pod["metadata"]["uid"]
        self.processes = {}
        self.claims = {}  # the PersistentVolume and the target of each claim that is published
        self.ready = None

    def privileged(self, container):
        return container.get("securityContext", {}).get("privileged", False)

    # Processes

    def text(self, container, value):
        """Return a text of the pod's specification as its process gets it."""
        for name, known in self.env(container).items():
            value = value.replace(f"$({name})", known)
        for mount in container["volumeMounts"] if self.privileged(container) else ():
            path = re.escape(mount["mountPath"])
            value = re.sub(f"(=|unix://){path}/", rf"\g<1>{self.source(mount)}/", value)
        return value

    def env(self, container):
        values = {"spec.nodeName": self.kubelet.name, "status.hostIP": self.kubelet.address,
                  "metadata.name": self.name, "metadata.namespace": self.namespace}
        found = {}
        for entry in container.get("env", []):
            source = entry.get("valueFrom", {})
            if "fieldRef" in source:
                found[entry["name"]] = values[source["fieldRef"]["fieldPath"]]
            elif "configMapKeyRef" in source:
                wanted = source["configMapKeyRef"]
                found[entry["name"]] = self.api.request(
                    "GET", f"/api/v1/namespaces/{self.namespace}/configmaps/{wanted['name']}"
                )["data"][wanted["key"]]
            else:
                found[entry["name"]] = entry.get("value", "").replace(
                    "$(NODE)", found.get("NODE", "$(NODE)"))
        return found

    def source(self, mount):
        """Return the folder of this node that a container has at a path."""
        volume = next(v for v in self.pod["spec"]["volumes"] if v["name"] == mount["name"])
        if "hostPath" in volume:
            path = volume["hostPath"]["path"]
            folder = self.kubelet.home if path == HOME else self.kubelet.root / path.lstrip("/")
        else:
            folder = self.folder / "volumes" / mount["name"]
        folder.mkdir(parents=True, exist_ok=True)
        if "projected" in volume:
            self.write_token(folder)
        if "secret" in volume:
            name = volume["secret"]["secretName"]
            for key, data in self.api.get("secrets", name, self.namespace)["data"].items():
                (folder / key).write_bytes(base64.b64decode(data))
        return folder

    def write_token(self, folder):
        token = self.api.token_of(self.pod["spec"]["serviceAccountName"], self.namespace)
        (folder / "token").write_text(token)
        (folder / "namespace").write_text(self.namespace)
        shutil.copy(self.kubelet.control.ca, folder / "ca.crt")

    def prefix(self, container):
        """Return the command that runs a program as the container: in the network of the node and,
        unless it is privileged, with the container's folders at their paths. The mounts of a
        privileged one are those of this host, like the ZFS that it calls."""
        network = Path("/run/netns", self.kubelet.name)
        words = ["nsenter", f"--net={network}"] if network.exists() else []
        if self.privileged(container):
            return words
        script = [f"hostname {self.name}", 'exec "$@"']  # two leaders have different names
        for mount in container["volumeMounts"]:
            os.makedirs(mount["mountPath"], exist_ok=True)  # below /run, which is the test's own
            script.insert(0, f"mount --bind {self.source(mount)} {mount['mountPath']}")
        return [*words, "unshare", "--mount", "--uts", "sh", "-ec", "\n".join(script), "sh"]

    def run_container(self, container):
        program = program_of(container)
        name = container["name"]
        process = self.processes.get(name)
        if not program or (process and process.running()):
            return
        server = {"KUBERNETES_SERVICE_HOST": ADDRESSES["n1"], "KUBERNETES_SERVICE_PORT": "6443"}
        args = [self.text(container, word) for word in container.get("args", [])]
        self.processes[name] = Process(
            self.kubelet.root, f"{self.name}-{name}", program, *args,
            prefix=self.prefix(container), env={**server, **self.env(container)}).start()

    # Volumes

    def wanted(self):
        for volume in self.pod["spec"].get("volumes", []):
            if "persistentVolumeClaim" in volume:
                yield volume["persistentVolumeClaim"]["claimName"]

    def attachment(self, volume):
        """Return the context of a PersistentVolume that is attached to this node, or None."""
        for entry in self.api.list("volumeattachments"):
            if (entry["spec"]["nodeName"] == self.kubelet.name and
                    entry["spec"]["source"].get("persistentVolumeName") ==
                    volume["metadata"]["name"] and entry.get("status", {}).get("attached")):
                return entry["status"].get("attachmentMetadata", {})
        return None

    def secrets(self, volume):
        wanted = volume["spec"]["csi"].get("nodeStageSecretRef")
        if not wanted:
            return {}
        data = self.api.get("secrets", wanted["name"], wanted["namespace"])["data"]
        return {key: base64.b64decode(value).decode() for key, value in data.items()}

    def capability(self, volume):
        spec = volume["spec"]
        mode = csi.VolumeCapability.AccessMode.Mode.Value(MODES[spec["accessModes"][0]])
        group = str(self.pod["spec"].get("securityContext", {}).get("fsGroup", ""))
        return csi.VolumeCapability(
            access_mode={"mode": mode},
            mount={"fs_type": spec["csi"].get("fsType", ""), "volume_mount_group": group,
                   "mount_flags": spec.get("mountOptions", [])})

    def publish(self, claim):
        """Publish the volume of a claim, if it is attached."""
        found = self.api.get("persistentvolumeclaims", claim, self.namespace)
        name = found and found["spec"].get("volumeName")
        volume = name and self.api.get("persistentvolumes", name)
        if not volume or volume["status"]["phase"] != "Bound":
            return
        self.kubelet.use(volume)
        context = self.attachment(volume)
        if context is None:
            return
        staging = self.kubelet.staging(volume)
        target = self.folder / "volumes/kubernetes.io~csi" / name / "mount"
        staging.mkdir(parents=True, exist_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        common = {"volume_id": volume["spec"]["csi"]["volumeHandle"],
                  "publish_context": context, "staging_target_path": str(staging),
                  "volume_context": volume["spec"]["csi"].get("volumeAttributes", {}),
                  "volume_capability": self.capability(volume)}
        node = self.kubelet.driver()
        node.NodeStageVolume(secrets=self.secrets(volume), **common)
        node.NodePublishVolume(target_path=str(target), **common)
        self.claims[claim] = volume, target

    def unpublish(self):
        for claim, (volume, target) in list(self.claims.items()):
            handle = volume["spec"]["csi"]["volumeHandle"]
            self.kubelet.driver().NodeUnpublishVolume(volume_id=handle, target_path=str(target))
            del self.claims[claim]
            self.kubelet.end_use(volume)

    # Life

    def look(self, pod):
        """Bring the pod nearer to what its object asks for."""
        self.pod = pod
        if pod["metadata"].get("deletionTimestamp"):
            self.end()
            return
        for claim in self.wanted():
            if claim not in self.claims:
                self.publish(claim)
        ready = all(claim in self.claims for claim in self.wanted())
        if ready:
            for container in pod["spec"]["containers"]:
                self.run_container(container)
        if ready != self.ready:
            self.report(ready)
            self.ready = ready

    def report(self, ready):
        state = {"running": {"startedAt": now()}} if ready else \
            {"waiting": {"reason": "ContainerCreating"}}
        conditions = [{"type": kind, "status": str(ready), "lastTransitionTime": now()}
                      for kind in ("Ready", "ContainersReady", "Initialized")]
        scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": now()}
        self.api.patch("pods", self.name, {"status": {
            "phase": "Running" if ready else "Pending", "conditions": [*conditions, scheduled],
            "hostIP": self.kubelet.address, "podIP": self.kubelet.address,
            "podIPs": [{"ip": self.kubelet.address}], "startTime": now(),
            "containerStatuses": [
                {"name": each["name"], "ready": ready, "restartCount": 0, "imageID": "",
                 "image": each["image"], "state": state}
                for each in self.pod["spec"]["containers"]]}}, self.namespace, "status")

    def end(self):
        for process in self.processes.values():
            process.stop()
        self.unpublish()
        self.api.delete("pods", self.name, self.namespace, grace=0)
        self.kubelet.pods.pop(self.pod["metadata"]["uid"], None)


class Kubelet(threading.Thread):
    """The kubelet of a node. Its folders are below a folder of its own, not /var/lib/kubelet."""

    def __init__(self, control, name, folder):
        super().__init__(daemon=True)
        self.control, self.name, self.address = control, name, ADDRESSES[name]
        self.root = folder / name
        self.home = self.root / "kubelet"
        self.registry = self.home / "plugins_registry"
        self.registry.mkdir(parents=True)
        (self.home / "plugins").mkdir()
        self.pods, self.drivers, self.used = {}, {}, {}
        self.ending = threading.Event()
        self.problems = []

    def join_cluster(self):
        amount = {"cpu": "8", "memory": "16Gi", "pods": "100"}
        self.control.api.create("nodes", {
            "metadata": {"name": self.name,
                         "labels": {"kubernetes.io/hostname": self.name,
                                    "kubernetes.io/os": "linux"},
                         "annotations": {
                             "volumes.kubernetes.io/controller-managed-attach-detach": "true"}},
            "spec": {}})
        self.control.api.patch("nodes", self.name, {"spec": {"taints": []}})  # not-ready
        self.control.api.patch("nodes", self.name, {"status": {
            "capacity": amount, "allocatable": amount,
            "addresses": [{"type": "InternalIP", "address": self.address}],
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                            "lastHeartbeatTime": now(), "lastTransitionTime": now()}]}},
            part="status")
        self.start()
        return self

    # Drivers

    def register(self):
        """Register the drivers of new sockets, and forget those of sockets that are gone."""
        seen = {path for path in self.registry.iterdir() if path.is_socket()}
        for path in seen - self.drivers.keys():
            told = Client(f"unix:{path}")
            info = told.GetInfo(timeout=5)
            assert info.type == "CSIPlugin"
            driver = Client(f"unix:{info.endpoint}")
            node = driver.NodeGetInfo(timeout=5)
            self.control.api.create("csinodes", {"metadata": {"name": self.name}, "spec": {
                "drivers": []}})
            self.control.api.patch("csinodes", self.name, {"spec": {"drivers": [
                {"name": info.name, "nodeID": node.node_id,
                 "topologyKeys": sorted(node.accessible_topology.segments)}]}})
            self.control.api.patch("nodes", self.name, {"metadata": {"labels": dict(
                node.accessible_topology.segments)}})
            told.NotifyRegistrationStatus(plugin_registered=True)
            told.close()
            self.drivers[path] = driver
        for path in self.drivers.keys() - seen:
            self.drivers.pop(path).close()

    def driver(self):
        return next(iter(self.drivers.values()))

    # Volumes of all pods

    def staging(self, volume):
        handle = volume["spec"]["csi"]["volumeHandle"]
        digest = hashlib.sha256(handle.encode()).hexdigest()
        return self.home / "plugins/kubernetes.io/csi" / DRIVER / digest / "globalmount"

    def tell_use(self):
        names = [f"kubernetes.io/csi/{DRIVER}^{handle}" for handle in self.used]
        self.control.api.patch("nodes", self.name, {"status": {"volumesInUse": names}},
                               part="status")

    def use(self, volume):
        handle = volume["spec"]["csi"]["volumeHandle"]
        if handle not in self.used:
            self.used[handle] = volume
            self.tell_use()

    def end_use(self, volume):
        """Unstage a volume that no pod has any more."""
        handle = volume["spec"]["csi"]["volumeHandle"]
        if any(handle == other["spec"]["csi"]["volumeHandle"]
               for pod in self.pods.values() for other, _ in pod.claims.values()):
            return
        self.driver().NodeUnstageVolume(volume_id=handle,
                                        staging_target_path=str(self.staging(volume)))
        del self.used[handle]
        self.tell_use()

    # Life

    def look(self):
        self.register()
        found = self.control.api.list("pods", fieldSelector=f"spec.nodeName={self.name}")
        for pod in found:
            known = self.pods.setdefault(pod["metadata"]["uid"], Pod(self, pod))
            try:
                known.look(pod)
            except Exception as error:  # look again later, as kubelet does
                self.problems.append(f"{pod['metadata']['name']}: {error}")

    def run(self):
        while not self.ending.wait(0.2):
            try:
                self.look()
            except Refused as error:
                self.problems.append(str(error))
            except Exception:
                self.problems.append(traceback.format_exc())

    def stop(self):
        self.ending.set()
        if self.is_alive():
            self.join()
        for pod in self.pods.values():
            for process in pod.processes.values():
                process.stop(signal.SIGKILL)
