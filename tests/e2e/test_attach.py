# SPDX-License-Identifier: MPL-2.0
"""Hosts that cannot export volumes create none with attach=nfs. Such a volume that they have
already is usable on the node that holds it, and refused on others. Also staging with volume
contexts of another driver, whose server exports the shares."""
from types import SimpleNamespace

import grpc
import pytest

from client import capability, refused, topology
from host import KERNEL_ZFS, SIZE, Volume

CODE = grpc.StatusCode
NFS = {"attach": "nfs"}
MANY = "MULTI_NODE_MULTI_WRITER"
FOREIGN = {"node_attach_driver": "nfs", "server": "127.0.0.1", "share": "/mnt/tank/films"}


@pytest.fixture
def pair(new_host):
    """Hosts a and b. The controller of a knows both agents, and both hosts use it."""
    b = new_host(node_id="b", node_args=("--address", "127.0.0.2"))
    a = new_host(node_id="a", agents=[f"unix://{b.agent_socket}"],
                 node_args=("--address", "127.0.0.1"))
    b.start_node()
    b.controller = a.start().controller
    return a, b


def made(host):
    """Return a volume with attach=nfs that its host had before it could not export any more."""
    host.agent.CreateDataset(id="data", size=SIZE, parameters="attach=nfs\n")
    return Volume(host, "data", mode=MANY)


def test_no_volume_is_created_where_it_cannot_be_exported(pair):
    a, b = pair
    reason = "no NFS server runs" if KERNEL_ZFS else "zfs-fuse cannot be exported"
    volume = Volume(a, "data", mode=MANY)
    with refused(CODE.RESOURCE_EXHAUSTED, naming=("attach=nfs", f"node 'a': {reason}", "node 'b'")):
        volume.create(parameters=NFS)
    assert (a.leaves(), b.leaves()) == ([], [])
    assert a.controller.GetCapacity().available_capacity
    assert not a.controller.GetCapacity(parameters=NFS).available_capacity


def test_no_clone_is_created_where_it_cannot_be_exported(pair):
    a, _ = pair
    Volume(a, "data").create()
    source = {"volume": {"volume_id": "data"}}
    with refused(CODE.RESOURCE_EXHAUSTED, naming="attach=nfs is impossible"):
        Volume(a, "copy").create(parameters=NFS, volume_content_source=source)
    assert a.ids() == ["data"]


def test_a_volume_is_local_on_its_own_node(pair):
    a, _ = pair
    volume = made(a)
    answer = volume.create(parameters=NFS)
    assert dict(answer.volume.volume_context) == NFS
    assert not answer.volume.accessible_topology
    volume.attach()
    assert volume.context == {"attach": "local", "dataset": a.dataset("data")}
    volume.stage()
    volume.publish()
    assert [one.address for one in volume.record().published] == [""]
    volume.down()


def test_a_host_that_cannot_export_refuses_with_the_reason(pair):
    a, b = pair
    made(b)
    with refused(CODE.UNAVAILABLE, naming="NFS server" if KERNEL_ZFS else "zfs-fuse"):
        Volume(a, "data", mode=MANY).attach()
    assert not Volume(b, "data").record().published


def test_a_node_without_an_address_is_named(new_host):
    a = new_host(node_id="a", namespaces=SimpleNamespace(prefix=("unshare", "--net")))
    b = new_host(node_id="b", agents=[f"unix://{a.agent_socket}"],
                 node_args=("--address", "127.0.0.1"))
    a.start_node()
    b.start()
    made(b)
    with refused(CODE.UNAVAILABLE, naming=("'a'", "--address")):
        b.controller.ControllerPublishVolume(volume_id="data", node_id="a",
                                             volume_capability=capability(MANY))


def test_an_nfs_volume_has_no_topology(pair):
    a, b = pair
    made(b)
    volume = Volume(a, "data")
    volume.create(parameters=NFS, accessibility_requirements=topology("a"))
    with refused(CODE.ALREADY_EXISTS, naming="attach"):
        volume.create()


@pytest.mark.parametrize("fs_type", ["", "nfs"])
def test_a_share_of_another_storage_needs_no_agent(pair, fs_type):
    a, _ = pair
    volume = Volume(a, "films", mode=MANY)
    volume.capability = capability(MANY, fs_type=fs_type)
    answer = a.controller.ValidateVolumeCapabilities(
        volume_id="films", volume_context=FOREIGN, volume_capabilities=[volume.capability])
    assert dict(answer.confirmed.volume_context) == FOREIGN
    assert not volume.attach(volume_context=FOREIGN).publish_context
    volume.detach()


def test_a_missing_share_is_not_staged(pair):
    a, _ = pair
    volume = Volume(a, "films", mode=MANY)
    # The staging fails because no server listens there, or the kernel here has no NFS.
    for fs_type in ("", "nfs"):
        volume.capability = capability(MANY, fs_type=fs_type)
        with refused(CODE.UNAVAILABLE, CODE.FAILED_PRECONDITION,
                     naming="127.0.0.1:/mnt/tank/films"):
            volume.stage(volume_context=FOREIGN)
    with refused(CODE.FAILED_PRECONDITION, naming="an NFS share"):
        volume.stage(volume_context=FOREIGN, volume_capability=capability(MANY, fs_type="ext4"))
    for wrong in ({"share": "films"}, {"server": ""}):
        with refused(CODE.INVALID_ARGUMENT, naming="'share'"):
            volume.stage(volume_context={**FOREIGN, **wrong})
    with refused(CODE.FAILED_PRECONDITION, naming="iscsi"):
        volume.stage(volume_context={**FOREIGN, "node_attach_driver": "iscsi"})
    assert a.mounts() == []


def test_fs_type_nfs_is_refused_for_our_own_volume(pair):
    a, _ = pair
    volume = made(a)
    volume.capability = capability(MANY, fs_type="nfs")
    for refuse in (volume.create, volume.attach):
        with refused(CODE.INVALID_ARGUMENT, naming=("'nfs'", "'zfs'")):
            refuse()
    volume.capability = capability(MANY, fs_type="zfs")
    volume.attach()
    with refused(CODE.FAILED_PRECONDITION, naming=("a ZFS filesystem", "'nfs'")):
        volume.stage(volume_capability=capability(MANY, fs_type="nfs"))
    assert a.mounts() == []


def test_mount_flags_of_nfs_are_ignored_for_a_local_volume(pair):
    a, _ = pair
    volume = made(a)
    volume.capability = capability(MANY, mount_flags=["nolock", "vers=4.1", "noatime"])
    for step in (volume.attach, volume.stage, volume.publish, volume.down):
        step()
    volume.capability = capability(MANY, mount_flags=["vers"])
    with refused(CODE.INVALID_ARGUMENT, naming=("'vers'", "noatime")):
        volume.stage()
