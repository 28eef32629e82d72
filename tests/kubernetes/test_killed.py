# SPDX-License-Identifier: MPL-2.0
"""Processes of zcsi and its sidecars are killed, and started again as kubelet does."""
import signal

from objects import claim, pod

VOLUMES = 6


def test_a_pod_keeps_its_volume_when_zcsi_node_is_killed(user):
    user.apply(claim("data"), pod("writer", "data"))
    node = user.node_of("writer")
    (user.path("writer", "data") / "file").write_text("kept")
    killed = user.cluster.processes("zcsi-node")
    for process in killed:
        process.stop(signal.SIGKILL)
    assert (user.path("writer", "data") / "file").read_text() == "kept"
    user.apply(claim("more"), pod("other", "more", node=node))
    assert user.node_of("other") == node
    user.until(lambda: not set(killed) & set(user.cluster.processes("zcsi-node")),
               "each is started again")


def test_each_claim_has_one_dataset_although_all_controllers_are_killed(user):
    names = [f"data-{number}" for number in range(VOLUMES)]
    user.apply(*(claim(name, storage_class="zcsi-immediate") for name in names))
    user.volume_of(names[0])
    for process in user.cluster.processes("zcsi-controller"):
        process.stop(signal.SIGKILL)
    volumes = {user.volume_of(name)["spec"]["csi"]["volumeHandle"] for name in names}
    assert len(volumes) == VOLUMES
    found = [name for node in user.cluster.kubelets for name in user.cluster.kept(node)]
    assert sorted(found) == sorted(volumes)
