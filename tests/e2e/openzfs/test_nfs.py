# SPDX-License-Identifier: MPL-2.0
"""A volume with attach=nfs is usable on the nodes that it is published to, and on no other."""
import contextlib
import errno
import os
import signal
from pathlib import Path

import grpc
import pytest

from client import capability, PATIENCE, refused, topology
from daemon import wait_for
from host import after_other_calls, run, Volume
from nfs import SHARES
from test_cli import zcsi

CODE = grpc.StatusCode
NFS = {"attach": "nfs"}
MANY = "MULTI_NODE_MULTI_WRITER"
SOON = 6  # seconds that an RPC may take while an NFS server is down, on a fast host


@pytest.fixture
def cluster(new_cluster, server):
    """A function that starts hosts, of which the first has the NFS server and the volumes."""
    with contextlib.ExitStack() as stack:
        def make(count, **kwargs):
            one, *others = stack.enter_context(new_cluster(count, **kwargs))
            one.server = server.start()
            stack.callback(server.clear)
            for host in others:
                host.start_node()
            one.start()
            for host in others:
                host.controller = one.controller
            return [one, *others]
        yield make


@pytest.fixture
def pair(cluster):
    return cluster(2)


def made(host, name="data", **kwargs):
    volume = Volume(host, name, **kwargs)
    volume.create(parameters=NFS, accessibility_requirements=topology(host.node_id))
    return volume


def seen_by(volume, host):
    """Return the same volume as used on another node."""
    return Volume(host, volume.id, mode=volume.mode)


def up(volume, **fields):
    volume.attach(**fields)
    volume.stage()
    volume.publish(**fields)
    return Path(volume.target)


def share(host, volume):
    return f"{SHARES}/{host.dataset(volume.id)}"


def is_mounted(host):
    return f"{SHARES}/" in host.namespaces.mounts()


def test_a_call_that_waits_too_long_for_an_export_is_refused(cluster, new_gate):
    """Calls that may change exports run one after the other, also for a volume without exports."""
    gate = new_gate("exportfs")
    one, two = cluster(2, env=gate.env)
    slow, local = made(one, "slow"), Volume(one, "data")
    local.create(accessibility_requirements=topology(one.node_id))
    local.attach()
    gate.hold("slow")  # until zcsi-node kills exportfs, after 20 seconds on a slow host too
    first = one.controller.ControllerPublishVolume.future(
        volume_id="slow", node_id=two.node_id, volume_capability=slow.capability)
    gate.arrived()
    with refused(CODE.ABORTED, CODE.DEADLINE_EXCEEDED):
        one.agent.UnpublishDataset(id="data", node_id=one.node_id, timeout=1 / PATIENCE)
    after_other_calls(one, "data")
    assert not first.done()
    gate.open()
    first.result()
    local.detach()
    seen_by(slow, two).detach()


def nothing_is_exported(host):
    """Check that no export is left. A share that the kernel keeps busy for longer than a detach
    waits is unmounted after the next scan."""
    assert host.server.exports() == {}
    assert host.server.recorded() == ""
    if is_mounted(host):
        host.node_daemon.signal(signal.SIGHUP)
    wait_for(lambda: not is_mounted(host), "no share is mounted")


def test_another_node_reads_and_writes_what_the_owner_has(pair):
    one, two = pair
    volume = seen_by(made(one), two)
    path = up(volume)
    assert volume.context == {"attach": "nfs", "server": one.namespaces.address,
                              "share": share(one, volume), "dataset": one.dataset("data")}
    assert one.server.exports() == {(share(one, volume), two.namespaces.address): "rw"}
    (path / "file").write_text("there and back")
    there = one.server.file(share(one, volume)) / "file"
    assert there.read_text() == "there and back"
    assert there.stat().st_uid == 0
    stats = two.node.NodeGetVolumeStats(volume_id="data", volume_path=volume.target)
    assert not stats.volume_condition.abnormal, stats.volume_condition.message
    assert stats.usage[0].total > 0
    volume.down()
    assert not Path(volume.target).exists()
    nothing_is_exported(one)
    Volume(one, "data").delete()
    assert one.leaves() == []


def test_zcsi_detaches_what_the_node_has_not_mounted(pair):
    one, two = pair
    volume = seen_by(made(one), two)
    up(volume)
    agents = [f"unix://{two.agent_socket}"]
    for words in ((), ("--force",)):
        said = zcsi(one, "unpublish", "data", two.node_id, *words, agents=agents, status=1)
        assert "it is mounted there at" in said
    volume.unpublish()
    volume.unstage()
    zcsi(one, "unpublish", "data", two.node_id, agents=agents)
    nothing_is_exported(one)
    Volume(one, "data").delete()


def test_zcsi_takes_the_export_from_a_node_that_is_off(pair):
    """The node is said to be off and is not; then its writes fail, and harm nobody."""
    one, two = pair
    volume = seen_by(made(one), two)
    path = up(volume)
    two.node_daemon.kill()
    agents = [f"unix://{two.agent_socket}"]
    assert "--force" in zcsi(one, "unpublish", "data", two.node_id, agents=agents, status=1)
    assert one.server.exports() != {}
    zcsi(one, "unpublish", "data", two.node_id, "--force", agents=agents)
    assert one.server.exports() == {} and one.server.recorded() == ""
    with pytest.raises(OSError):
        (path / "file").write_text("late")
    two.node_daemon.close()
    two.start_node()
    volume.unpublish()
    volume.unstage()
    nothing_is_exported(one)
    Volume(one, "data").delete()


def test_a_publish_runs_exportfs_once_and_a_repeat_nothing(pair):
    one, two = pair
    volume = seen_by(made(one), two)
    for expected in (["zfs set", "exportfs -o"], []):
        mark = one.node_daemon.mark()
        volume.attach()
        # The agent reads the new volume back at this time, which is not part of the call.
        runs = [run for run in one.node_daemon.runs(mark) if not run.startswith("zfs get")]
        assert [" ".join(run.split()[:2]) for run in runs] == expected
    volume.detach()


def test_several_nodes_and_the_owner_share_a_volume(cluster):
    one, two, three = cluster(3)
    volume = made(one, mode=MANY)
    second, third = seen_by(volume, two), seen_by(volume, three)
    path = up(second)
    to_two, to_three = ((share(one, volume), host.namespaces.address) for host in (two, three))
    assert one.server.exports() == {to_two: "rw"}
    third.attach()
    assert one.server.exports() == {to_two: "rw", to_three: "rw"}
    (up(volume) / "first").write_text("1")
    assert volume.context["attach"] == "local"
    (path / "second").write_text("2")
    for each in (volume, second):
        wait_for(lambda: sorted(os.listdir(each.target)) == ["first", "second"],
                 f"both files on {each.host.node_id}")
    second.down()
    assert one.server.exports() == {to_three: "rw"}
    volume.down()
    with refused(CODE.FAILED_PRECONDITION, naming="n3"):
        volume.delete()
    third.detach()
    nothing_is_exported(one)


def test_a_reader_gets_a_read_only_export(pair):
    one, two = pair
    volume = made(one, mode="MULTI_NODE_SINGLE_WRITER")
    reader = seen_by(volume, two)
    (up(volume) / "file").write_text("read me")
    path = up(reader, readonly=True)
    assert set(one.server.exports().values()) == {"ro"}
    assert (path / "file").read_text() == "read me"
    with pytest.raises(OSError) as seen:
        (path / "file").write_text("written")
    assert seen.value.errno == errno.EROFS
    with pytest.raises(OSError) as seen:
        (Path(reader.staging) / "file").write_text("past the mount's flag")
    assert seen.value.errno == errno.EROFS
    reader.down()
    volume.down()


def test_a_local_volume_is_not_exported(pair):
    one, two = pair
    volume = Volume(one, "data")
    volume.create(accessibility_requirements=topology("n1"))
    with refused(CODE.INVALID_ARGUMENT, naming=("n1", "attach=nfs")):
        seen_by(volume, two).attach()
    with refused(CODE.INVALID_ARGUMENT, naming="attach=nfs"):
        Volume(one, "other", mode=MANY).create()
    nothing_is_exported(one)


def test_without_an_nfs_server_the_refusal_says_so(pair):
    one, two = pair
    volume = seen_by(made(one), two)
    one.server.stop()
    with refused(CODE.UNAVAILABLE, naming=("NFS server", "n1")):
        volume.attach()
    assert not Volume(one, "data").record().published
    # The second host has a pool too, but never an NFS server.
    with refused(CODE.RESOURCE_EXHAUSTED, naming=("NFS server", "n1")):
        Volume(one, "other").create(parameters=NFS)
    one.server.start()
    Volume(one, "other").create(parameters=NFS)


def test_exports_are_restored_at_the_start(pair):
    one, two = pair
    volume = seen_by(made(one), two)
    path = up(volume)
    exports, recorded = one.server.exports(), one.server.recorded()
    one.node_daemon.kill()
    # The state after a reboot, with nothing exported or mounted, and after a crash in an unpublish.
    one.server.run("exportfs", "-ua")
    one.server.run("umount", "--lazy", share(one, volume))
    stray = share(one, volume) + "-stray"
    one.server.file(stray).mkdir()
    one.server.run("exportfs", "-o", "rw", f"{two.namespaces.address}:{stray}")
    one.restart(one.node_daemon)
    wait_for(lambda: one.server.exports() == exports, "the exports are healed")
    assert one.server.recorded() == recorded
    (path / "file").write_text("still mine")
    one.server.run("exportfs", "-r")
    assert one.server.exports() == exports
    volume.down()
    nothing_is_exported(one)


def test_the_share_of_a_volume_that_was_renamed_by_hand_is_unmounted(pair):
    one, two = pair
    volume = seen_by(made(one, mode=MANY), two)
    volume.attach()
    assert one.server.exports() and is_mounted(one)
    run("zfs", "rename", "-u", one.dataset("data"), one.dataset("away"))
    wait_for(lambda: one.ids() == [], "the rename is seen")
    one.node_daemon.signal(signal.SIGHUP)
    wait_for(lambda: not is_mounted(one), "no share is mounted")
    assert one.server.exports() == {}


def test_a_volume_detached_while_exports_are_restored_is_not_exported(cluster, new_gate):
    """The daemon restores the exports one by one from a list that it has read before."""
    gate = new_gate("exportfs")
    one, two = cluster(2, env=gate.env)
    volumes = {name: seen_by(made(one, name), two) for name in "abc"}
    for volume in volumes.values():
        volume.attach()
    one.node_daemon.kill()
    # The state after a reboot.
    one.server.run("exportfs", "-ua")
    for volume in volumes.values():
        one.server.run("umount", share(one, volume))
        one.server.file(share(one, volume)).rmdir()
    gate.hold("/a ")
    one.restart(one.node_daemon)
    gate.arrived()
    waiting = one.controller.ControllerUnpublishVolume.future(volume_id="b", node_id="n2")
    wait_for(lambda: not Volume(one, "b").record().published, "b is published no more")
    gate.open()
    waiting.result()
    wait_for(lambda: one.server.exports().keys() >= exports_of(one, two, "ac"), "all are healed")
    assert one.server.exports().keys() == exports_of(one, two, "ac")
    volumes["a"].detach()
    volumes["c"].detach()
    nothing_is_exported(one)


def exports_of(one, two, names):
    return {(f"/run/zcsi-nfs/{one.dataset(name)}", two.namespaces.address) for name in names}


def test_a_share_of_another_storage_is_staged(pair):
    one, two = pair
    folder = one.server.file("/run/zcsi-nfs") / "films"
    folder.mkdir()
    (folder / "file").write_text("by hand")
    one.server.run("exportfs", "-o", "rw,no_root_squash,fsid=7",
                   f"{two.namespaces.address}:/run/zcsi-nfs/films")
    volume = Volume(two, "films")
    volume.capability = capability(MANY, fs_type="nfs", mount_flags=["nolock", "noatime"])
    context = {"node_attach_driver": "nfs", "server": one.namespaces.address,
               "share": "/run/zcsi-nfs/films"}
    answer = two.controller.ValidateVolumeCapabilities(
        volume_id="films", volume_context=context, volume_capabilities=[volume.capability])
    assert answer.HasField("confirmed")
    volume.attach(volume_context=context)
    for _ in range(2):
        volume.stage(volume_context=context)
        volume.publish()
    assert (Path(volume.target) / "file").read_text() == "by hand"
    volume.down()
    assert two.mounts() == []


def test_a_server_that_is_down_delays_no_call(pair):
    one, two = pair
    volume, other = (seen_by(made(one, name, mode=MANY), two) for name in ("data", "other"))
    path = up(volume)
    other.attach()
    (path / "file").write_text("before")
    one.namespaces.unplug()
    stats = two.node.NodeGetVolumeStats(volume_id="data", volume_path=str(path), timeout=SOON)
    assert stats.volume_condition.abnormal
    assert one.namespaces.address in stats.volume_condition.message
    with refused(CODE.UNAVAILABLE, naming=one.namespaces.address):
        other.stage(timeout=SOON)
    volume.publish(volume.target + "-2", timeout=SOON)
    for target in (volume.target, volume.target + "-2"):
        two.node.NodeUnpublishVolume(volume_id="data", target_path=target, timeout=SOON)
    two.node.NodeUnstageVolume(volume_id="data", staging_target_path=volume.staging, timeout=SOON)
    assert two.mounts() == []

    one.namespaces.plug()
    wait_for(lambda: staged(other), "the server is back", 60)
    assert len(two.mounts()) == 1
    wait_for(lambda: staged(volume), "nothing is in the way of the next mount", 60)
    volume.publish()
    assert (path / "file").read_text() == "before"
    volume.down()
    other.unstage()
    other.detach()
    nothing_is_exported(one)


def staged(volume):
    try:
        volume.stage()
    except grpc.RpcError as error:
        assert error.code() == CODE.UNAVAILABLE, error.details()
        return False
    return True
