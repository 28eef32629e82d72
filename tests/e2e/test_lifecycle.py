# SPDX-License-Identifier: MPL-2.0
"""A volume from its creation to its deletion, with a workload on it."""
import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import grpc
import pytest

from client import MIB, refused
from daemon import wait_for
from host import fill, get, SIZE, Volume

CODE = grpc.StatusCode


def test_a_workload_fills_its_quota_grows_and_writes_on(host, volume):
    volume.up()
    file = f"{volume.target}/file"
    assert 0.9 * SIZE < fill(file) <= SIZE
    with open(file, "ab", buffering=0) as held:
        assert volume.expand(2 * SIZE).capacity_bytes == 2 * SIZE
        assert held.write(os.urandom(MIB)) == MIB
    fill(file)
    assert 1.9 * SIZE < os.path.getsize(file) <= 2 * SIZE
    volume.down().delete()
    assert (host.leaves(), host.mounts()) == ([], [])


HOLDS = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (5000, 5000))
held = [open(f"{sys.argv[1]}/file", "ab") for _ in range(4000)]
print(flush=True)
sys.stdin.read()
"""


def test_a_volume_is_deleted_right_after_its_user_was_killed(host, volume):
    """The kernel may still be closing the killed process's files when the volume is unmounted."""
    for _ in range(3):
        volume.up().unpublish()
        with subprocess.Popen([sys.executable, "-c", HOLDS, volume.staging],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as user:
            user.stdout.readline()
            user.kill()
        volume.down().delete()
    assert (host.leaves(), host.mounts()) == ([], [])


def test_unpublish_removes_the_target_and_unstage_keeps_the_staging_path(volume):
    volume.up().down()
    assert not os.path.lexists(volume.target)
    assert os.path.isdir(volume.staging) and not os.path.ismount(volume.staging)


def test_data_survives_a_publish_elsewhere(volume):
    volume.up()
    Path(volume.target, "note").write_text("kept")
    volume.down()
    again = Volume(volume.host, volume.id).up()
    assert Path(again.target, "note").read_text() == "kept"


def test_a_read_only_publish_refuses_writes(volume):
    volume.up()
    Path(volume.target, "note").write_text("kept")
    volume.unpublish()
    volume.publish(readonly=True)
    assert Path(volume.target, "note").read_text() == "kept"
    with pytest.raises(OSError) as seen:
        Path(volume.target, "other").write_text("refused")
    assert seen.value.errno == errno.EROFS
    Path(volume.staging, "staged").write_text("only the target is read-only")


def test_each_call_repeated_gives_the_same_answer(host, volume):
    for step in (volume.create, volume.attach, volume.stage, volume.publish):
        assert step() == step()
        assert len(host.leaves()) == 1
    assert len([point for point, _ in host.mounts() if point == volume.target]) == 1
    assert volume.expand(2 * SIZE) == volume.expand(2 * SIZE)
    for step in (volume.unpublish, volume.unstage, volume.detach, volume.delete):
        assert step() == step()


def test_the_dataset_has_the_properties_of_its_volume(host, volume):
    volume.create()
    dataset = host.dataset("data")
    expected = {"refquota": str(SIZE), "canmount": "noauto", "mountpoint": "legacy",
                "zcsi:version": "1", "zcsi:volume": "data"}
    assert {name: get(dataset, name) for name in expected} == expected
    host.node_daemon.signal(signal.SIGHUP)
    record = wait_for(lambda: volume.record().guid and volume.record(), "the guid is read")
    assert (record.id, record.name, record.size) == ("data", dataset, SIZE)
    assert str(record.guid) == get(dataset, "guid")


def test_the_answer_to_create_says_where_the_volume_is(volume):
    made = volume.create().volume
    assert (made.volume_id, made.capacity_bytes) == ("data", SIZE)
    assert [dict(t.segments) for t in made.accessible_topology] == [{"zcsi.zfs/node": "n1"}]


def test_a_parameter_becomes_a_property(host, volume):
    volume.create(parameters={"zfs.compression": "gzip"})
    assert get(host.dataset("data"), "compression") == "gzip"
    with refused(CODE.ALREADY_EXISTS, naming="parameters"):
        volume.create(parameters={"zfs.compression": "off"})


def test_a_single_node_volume_has_one_target(volume):
    volume.up()
    with refused(CODE.FAILED_PRECONDITION, naming=volume.target):
        volume.publish(target=volume.target + "-2")
    assert not os.path.exists(volume.target + "-2")


def test_a_target_published_differently_already_exists(volume):
    volume.up()
    with refused(CODE.ALREADY_EXISTS, naming=volume.target):
        volume.publish(readonly=True)


def test_unstage_waits_for_the_last_unpublish(volume):
    volume.up()
    with refused(CODE.FAILED_PRECONDITION, naming=volume.target):
        volume.unstage()
    assert os.path.ismount(volume.staging)


def test_a_second_node_is_refused_by_the_name_of_the_first(host, volume):
    volume.create()
    volume.attach()
    with refused(CODE.NOT_FOUND, naming="elsewhere"):
        volume.attach(node_id="elsewhere")
    with refused(CODE.FAILED_PRECONDITION, naming="n1"):
        host.agent.PublishDataset(id="data", publication={"node_id": "n2", "access_mode": 1})


def test_attached_otherwise_already_exists(volume):
    volume.create()
    volume.attach()
    with refused(CODE.ALREADY_EXISTS):
        volume.attach(readonly=True)


def test_a_detach_without_a_node_is_from_all_nodes(host, volume):
    volume.create()
    volume.attach()
    host.controller.ControllerUnpublishVolume(volume_id="data")
    assert not volume.record().published


def test_published_nodes_are_listed(host, volume):
    volume.create()
    volume.attach()
    entry, = host.controller.ListVolumes().entries
    assert (entry.volume.volume_id, list(entry.status.published_node_ids)) == ("data", ["n1"])


def test_requested_capabilities_are_confirmed(host, volume):
    volume.create()
    answer = host.controller.ValidateVolumeCapabilities(
        volume_id="data", volume_capabilities=[volume.capability])
    assert list(answer.confirmed.volume_capabilities) == [volume.capability]


def test_capacity_is_that_of_the_topology(host):
    def available(**fields):
        return host.controller.GetCapacity(**fields).available_capacity
    assert 0 < available() < 1024 * MIB
    assert available(accessible_topology={"segments": {"zcsi.zfs/node": "n1"}}) == available()
    assert available(accessible_topology={"segments": {"zcsi.zfs/node": "other"}}) == 0


def test_identity_is_one_plugin(host):
    assert host.node.GetPluginInfo() == host.controller.GetPluginInfo()
    assert host.node.GetPluginInfo().name == "zcsi.zfs"
    assert host.node.GetPluginCapabilities() == host.controller.GetPluginCapabilities()
    assert len(host.node.GetPluginCapabilities().capabilities) > 0


def test_the_node_returns_its_id_and_topology(host):
    info = host.node.NodeGetInfo()
    assert info.node_id == "n1"
    assert dict(info.accessible_topology.segments) == {"zcsi.zfs/node": "n1"}
