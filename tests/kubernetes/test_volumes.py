# SPDX-License-Identifier: MPL-2.0
"""Claims become datasets, and pods use them: the scheduler, the controllers of Kubernetes and the
sidecars are real."""
import pytest

from host import get, run
from objects import claim, pod, snapshot


def test_a_pod_writes_into_a_dataset(user):
    user.apply(claim("data"), pod("writer", "data"))
    node = user.node_of("writer")
    dataset = user.dataset("data")
    assert dataset.startswith(f"{user.cluster.pool}/{node}/pvc-")
    assert get(dataset, "refquota") == str(64 << 20)
    assert get(dataset, "kubernetes:claim") == "default/data"
    (user.path("writer", "data") / "file").write_text("kept")
    user.delete("pods", "writer")
    user.apply(pod("reader", "data"))
    assert user.node_of("reader") == node
    assert (user.path("reader", "data") / "file").read_text() == "kept"


@pytest.mark.parametrize("node", ["n1", "n2"])
def test_a_volume_is_made_where_its_pod_is_to_run(user, node):
    user.apply(claim("data"), pod("writer", "data", node=node))
    assert user.node_of("writer") == node
    assert len(user.cluster.kept(node)) == 1
    user.delete("pods", "writer")
    user.delete("persistentvolumeclaims", "data")
    user.until(lambda: not user.cluster.kept(node), "the dataset is in the trash")


def test_a_local_volume_keeps_its_pod_on_its_node(user):
    user.apply(claim("data"), pod("first", "data", node="n1"))
    user.node_of("first")
    user.delete("pods", "first")
    user.apply(pod("elsewhere", "data", node="n2"))

    def refused():
        found = user.api.get("pods", "elsewhere", "default")
        return any("didn't match PersistentVolume's node affinity" in each.get("message", "")
                   for each in found["status"].get("conditions", []))
    user.until(refused, "the scheduler says why")


def test_the_group_of_a_pod_owns_the_root_of_its_volume(user):
    user.apply(claim("data"), pod("writer", "data", securityContext={"fsGroup": 2000}))
    user.node_of("writer")
    assert user.path("writer", "data").stat().st_gid == 2000


def test_a_volume_grows_while_it_is_used(user):
    user.apply(claim("data"), pod("writer", "data"))
    user.node_of("writer")
    user.apply(claim("data", size="128Mi"))

    def grown():
        found = user.api.get("persistentvolumeclaims", "data", "default")
        return found["status"].get("capacity", {}).get("storage") == "128Mi"
    user.until(grown, "the claim has grown")
    assert get(user.dataset("data"), "refquota") == str(128 << 20)


def test_a_snapshot_becomes_another_volume(user):
    user.apply(claim("data"), pod("writer", "data"))
    user.node_of("writer")
    (user.path("writer", "data") / "file").write_text("before")
    run("sync")
    user.apply(snapshot("monday", "data"))

    def ready():
        found = user.api.get("volumesnapshots", "monday", "default")
        return found.get("status", {}).get("readyToUse")
    user.until(ready, "the snapshot is ready")
    (user.path("writer", "data") / "file").write_text("after")
    source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "monday"}
    user.apply(claim("restored", storage_class="zcsi-immediate", dataSource=source),
               pod("reader", "restored"))
    user.node_of("reader")
    assert (user.path("reader", "restored") / "file").read_text() == "before"


def test_a_clone_has_the_data_of_its_source(user):
    user.apply(claim("data"), pod("writer", "data"))
    user.node_of("writer")
    (user.path("writer", "data") / "file").write_text("same")
    run("sync")
    source = {"kind": "PersistentVolumeClaim", "name": "data"}
    user.apply(claim("clone", storage_class="zcsi-immediate", dataSource=source),
               pod("reader", "clone"))
    user.node_of("reader")
    assert (user.path("reader", "clone") / "file").read_text() == "same"


def test_the_attributes_of_a_volume_are_changed(user):
    for name, value in (("gold", "gzip-9"), ("silver", "off")):
        user.apply({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass",
                    "metadata": {"name": name}, "driverName": "zcsi.zfs",
                    "parameters": {"zfs.compression": value}})
    user.apply(claim("data", volumeAttributesClassName="gold"), pod("writer", "data"))
    user.node_of("writer")
    assert get(user.dataset("data"), "compression") == "gzip-9"
    user.apply(claim("data", volumeAttributesClassName="silver"))
    user.until(lambda: get(user.dataset("data"), "compression") == "off", "it is changed")


def test_a_wrong_parameter_is_an_event_of_the_claim(user):
    user.apply({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
                "metadata": {"name": "wrong"}, "provisioner": "zcsi.zfs",
                "parameters": {"compression": "lz4"}})
    user.apply(claim("data", storage_class="wrong"))
    user.until(lambda: "did you mean 'zfs.compression'" in user.events_of("data"),
               "the event names the parameter")


def test_an_impossible_volume_is_an_event_of_the_claim(user):
    """zfs-fuse, on which these tests run, has no block devices."""
    user.apply(claim("data", storage_class="zcsi-ext4"), pod("writer", "data"))
    user.until(lambda: "zfs-fuse, which has no block devices" in user.events_of("data"),
               "the event says why")


def test_a_thin_volume_may_be_larger_than_its_pool(user):
    """The scheduler asks for the largest volume of a node, not for its free space alone."""
    user.apply(claim("data", size="1Ti"), pod("writer", "data"))
    user.node_of("writer")
    assert get(user.dataset("data"), "refquota") == str(1 << 40)
