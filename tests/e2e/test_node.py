# SPDX-License-Identifier: MPL-2.0
"""How often a volume can be staged and published, and calls on a host with leftover directories and
mounts."""
import os
from pathlib import Path

import grpc
import pytest

from client import capability, csi, refused
from host import run, staging_marks, Volume
from staged import bare, points, sibling, used

CODE = grpc.StatusCode
ONE_TARGET = ("SINGLE_NODE_WRITER", "SINGLE_NODE_READER_ONLY", "SINGLE_NODE_SINGLE_WRITER")
MANY_TARGETS = ("SINGLE_NODE_MULTI_WRITER", "MULTI_NODE_READER_ONLY", "MULTI_NODE_SINGLE_WRITER",
                "MULTI_NODE_MULTI_WRITER")


# ---- the number of targets, for each access mode and each difference from the first publish ----

@pytest.mark.parametrize("mode", ONE_TARGET + MANY_TARGETS)
def test_a_repeated_publish_mounts_once(host, volume, mode):
    used(volume, mode).publish()
    assert points(host).count(volume.target) == 1


@pytest.mark.parametrize("mode", ONE_TARGET + MANY_TARGETS)
def test_a_target_with_other_arguments_already_exists(volume, mode):
    used(volume, mode)
    before = volume.host.state()
    with refused(CODE.ALREADY_EXISTS, naming=volume.target):
        volume.publish(volume_capability=capability(mode, mount_flags=["noexec"]))
    assert volume.host.state() == before


@pytest.mark.parametrize("flags", [[], ["noexec"]], ids=["same", "other"])
@pytest.mark.parametrize("mode", ONE_TARGET)
def test_a_second_target_is_refused_where_one_is_allowed(volume, mode, flags):
    used(volume, mode)
    before = volume.host.state()
    with refused(CODE.FAILED_PRECONDITION, naming=volume.target):
        volume.publish(target=volume.target + "-2",
                       volume_capability=capability(mode, mount_flags=flags))
    assert volume.host.state() == before


@pytest.mark.parametrize("flags", [[], ["noexec"]], ids=["same", "other"])
@pytest.mark.parametrize("mode", MANY_TARGETS)
def test_a_second_target_is_mounted_where_many_are_allowed(host, volume, mode, flags):
    used(volume, mode)
    second = volume.target + "-2"
    volume.publish(target=second, volume_capability=capability(mode, mount_flags=flags))
    options = dict(host.mounts())
    assert volume.target in options and ("noexec" in options[second]) == bool(flags)
    volume.unpublish(second)
    assert os.path.ismount(volume.target) and not os.path.lexists(second)


def test_targets_are_counted_over_all_stagings(volume):
    used(volume)
    other = sibling(volume)
    other.stage()
    with refused(CODE.FAILED_PRECONDITION, naming=volume.target):
        other.publish()
    assert not os.path.lexists(other.target)
    volume.unpublish()
    other.publish()
    with refused(CODE.FAILED_PRECONDITION, naming=other.target):
        volume.publish()


def test_same_target_from_another_staging_already_exists(volume):
    used(volume, "SINGLE_NODE_MULTI_WRITER")
    other = sibling(volume, "SINGLE_NODE_MULTI_WRITER")
    other.stage()
    with refused(CODE.ALREADY_EXISTS, naming="staging_target_path"):
        other.publish(target=volume.target)


def test_targets_of_another_volume_are_not_counted(host, volume):
    used(volume)
    used(Volume(host, "other"))


# ---- several stagings, readers and writers ----

def test_a_reader_and_a_writer_have_stagings_of_their_own(host, volume):
    writer = used(volume, "MULTI_NODE_MULTI_WRITER")
    reader = sibling(volume, "MULTI_NODE_READER_ONLY")
    reader.stage()
    reader.publish()
    Path(writer.target, "note").write_text("seen")
    assert Path(reader.target, "note").read_text() == "seen"
    for folder in (reader.target, reader.staging):
        with pytest.raises(OSError, match="Read-only"):
            Path(folder, "other").write_text("refused")
    with refused(CODE.FAILED_PRECONDITION, naming=reader.target):
        reader.unstage()
    writer.unpublish()
    writer.unstage()
    assert Path(reader.target, "note").read_text() == "seen"
    reader.unpublish()
    reader.unstage()
    assert host.mounts() == []


def test_staged_otherwise_and_in_use_already_exists(volume):
    used(volume)
    volume.capability = capability(mount_flags=["noexec"])
    before = volume.host.state()
    with refused(CODE.ALREADY_EXISTS, naming=volume.target):
        volume.stage()
    assert volume.host.state() == before


# ---- leftover directories and mounts ----

def test_a_leftover_directory_is_used(volume):
    volume.create()
    os.makedirs(volume.staging)
    os.makedirs(volume.target)
    volume.stage()
    volume.publish()
    volume.down()
    assert not os.path.lexists(volume.target)


@pytest.mark.parametrize("which", ["staging", "target"])
def test_a_directory_with_files_is_not_mounted_over(volume, which):
    volume.create()
    os.makedirs(volume.staging)
    path = Path(getattr(volume, which))
    if which == "target":
        volume.stage()
        path.mkdir()
    (path / "note").write_text("kept")
    before = volume.host.state()
    with refused(CODE.FAILED_PRECONDITION, naming=["not empty", str(path)]):
        volume.stage() if which == "staging" else volume.publish()
    assert volume.host.state() == before and (path / "note").read_text() == "kept"


def test_a_private_staging_mount_is_replaced(volume):
    volume.create()
    volume.stage()
    bare(volume.staging)
    with refused(CODE.FAILED_PRECONDITION, naming="restart the job"):
        volume.publish()
    volume.stage()
    volume.publish()
    with refused(CODE.FAILED_PRECONDITION, naming=volume.target):
        volume.unstage()


@pytest.fixture(params=["private", "shared"])
def below(request, host, volume):
    """A volume whose paths are below a parent mount that is private, or shared as systemd makes all
    mounts."""
    pods = f"{host.folder}/pods"
    os.mkdir(pods)
    run("mount", "--bind", "--make-private", pods, pods)  # and no peer of a shared root
    run("mount", f"--make-{request.param}", pods)
    volume.staging, volume.target = f"{pods}/staging", f"{pods}/target"
    yield volume
    run("umount", "--recursive", pods)


@pytest.fixture
def orphan(below):
    """A volume of which only the target remains, because its staging path was unmounted."""
    used(below)
    run("umount", below.staging)
    return below


def test_a_target_whose_staging_has_gone_is_replaced(host, orphan):
    orphan.stage()
    orphan.publish()
    assert points(host).count(orphan.target) == 1
    with refused(CODE.FAILED_PRECONDITION, naming=orphan.target):
        orphan.unstage()
    orphan.down()
    assert points(host) == [os.path.dirname(orphan.target)]


@pytest.mark.parametrize("below", ["private"], indirect=True)
def test_a_target_whose_staging_has_gone_still_counts(orphan):
    orphan.stage()
    with refused(CODE.FAILED_PRECONDITION, naming=orphan.target):
        orphan.publish(target=orphan.target + "-2")


def test_a_target_in_use_whose_staging_has_gone_is_kept(orphan):
    orphan.stage()
    with open(f"{orphan.target}/file", "w"):
        with refused(CODE.FAILED_PRECONDITION, naming=f"pid {os.getpid()}"):
            orphan.publish()
    orphan.publish()


def test_a_target_whose_staging_has_gone_is_unpublished(host, orphan):
    orphan.unpublish()
    assert points(host) == [os.path.dirname(orphan.target)]
    assert not os.path.lexists(orphan.target)


def refuse_to_unpublish_the_staging(volume):
    before = volume.host.state()
    with refused(CODE.FAILED_PRECONDITION, naming=(volume.staging, "NodeUnstageVolume")):
        volume.unpublish(volume.staging)
    assert volume.host.state() == before


def test_a_staging_path_is_not_unpublished(below):
    """NodeUnpublishVolume refuses a staging path, whether the volume has targets or not."""
    used(below)
    for _ in range(2):
        refuse_to_unpublish_the_staging(below)
        below.unpublish()
    assert os.path.ismount(below.staging)


def test_a_restarted_daemon_knows_the_staging_paths(host, below):
    below.create()
    below.stage()
    host.node_daemon.kill()
    host.restart(host.node_daemon)
    refuse_to_unpublish_the_staging(below)
    below.unstage()
    assert staging_marks(host) == []


@pytest.mark.parametrize("below", ["shared"], indirect=True)
def test_a_target_at_a_path_that_was_a_staging_path_is_unpublished(host, orphan):
    """A mark without a mount has no effect. The target removes it, so that it does not count when
    the target's staging is gone too."""
    other = sibling(orphan)
    other.staging = f"{os.path.dirname(orphan.target)}/other"
    other.stage()
    run("umount", other.staging)
    orphan.unpublish()
    orphan.unstage()
    orphan.stage()
    orphan.publish(target=other.staging)
    run("umount", orphan.staging)
    orphan.unpublish(other.staging)
    assert points(host) == [os.path.dirname(orphan.target)]
    assert not os.path.lexists(other.staging)


def test_a_staging_of_an_earlier_version_is_known_by_its_target(host, volume):
    used(volume)
    for mark in staging_marks(host):
        os.unlink(mark)
    refuse_to_unpublish_the_staging(volume)
    volume.unpublish()
    volume.stage()
    refuse_to_unpublish_the_staging(volume)


def test_a_staging_is_not_replaced_by_a_target(volume):
    volume.create()
    volume.stage()
    other = sibling(volume)
    other.stage()
    before = volume.host.state()
    for each in (volume, other):
        with refused(CODE.FAILED_PRECONDITION, naming=volume.staging):
            each.publish(target=volume.staging)
    assert volume.host.state() == before


def test_stacked_mounts_are_unmounted_together(host, volume):
    used(volume)
    for _ in range(3):
        run("mount", "--bind", volume.staging, volume.target)
    run("mount", "--bind", volume.target, volume.staging)
    volume.unpublish()
    assert points(host).count(volume.target) == 0 and not os.path.lexists(volume.target)
    volume.unstage()
    assert host.mounts() == []


def test_a_foreign_mount_is_not_unmounted(host, volume):
    used(volume)
    run("mount", "-t", "tmpfs", "-o", "size=1m", "cover", volume.target)
    before = host.state()
    with refused(CODE.FAILED_PRECONDITION, naming=("cover", f"umount {volume.target}")):
        volume.unpublish()
    with refused(CODE.FAILED_PRECONDITION, naming="cover"):
        volume.publish()
    assert host.state() == before
    run("umount", volume.target)
    volume.unpublish()


def test_repeated_calls_restore_the_mounts_of_a_reset_host(host, volume):
    """After a reset the host has no mounts and a new daemon, but all directories remain."""
    used(volume)
    host.node_daemon.kill()
    for point in reversed(points(host)):
        run("umount", point)
    host.restart(host.node_daemon)
    assert os.path.isdir(volume.target) and os.path.isdir(volume.staging)
    volume.stage()
    volume.publish()
    assert volume.down().host.mounts() == [] and not os.path.lexists(volume.target)


def test_the_node_has_all_capabilities(host):
    kinds = csi.NodeServiceCapability.RPC.Type
    offered = {kinds.Name(row.rpc.type) for row in host.node.NodeGetCapabilities().capabilities}
    assert offered == set(kinds.keys()) - {"UNKNOWN"}
