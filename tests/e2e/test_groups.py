# SPDX-License-Identifier: MPL-2.0
"""Snapshots of several volumes at one instant. zfs-fuse can take only one snapshot at a time and
refuses larger groups; there the tests use groups of one volume."""
import grpc
import pytest

from client import refused
from daemon import wait_for
from host import get, KERNEL_ZFS, run, SIZE, Volume
from snapshots import drop, in_zfs, listed, restore, take, trashed

CODE = grpc.StatusCode
# As many volumes as ZFS can snapshot at once.
MEMBERS = ["a", "b", "c"] if KERNEL_ZFS else ["a"]


@pytest.fixture
def host(host):
    for name in "abc":
        Volume(host, name).create()
    return host


def take_group(host, ids=None, name="g"):
    return host.controller.CreateVolumeGroupSnapshot(
        name=name, source_volume_ids=ids or MEMBERS).group_snapshot


def get_group(host, ids, name="g"):
    return host.controller.GetVolumeGroupSnapshot(
        group_snapshot_id=name, snapshot_ids=ids).group_snapshot


def drop_group(host, ids, name="g"):
    host.controller.DeleteVolumeGroupSnapshot(group_snapshot_id=name, snapshot_ids=ids)


def members(group):
    return sorted(snapshot.snapshot_id for snapshot in group.snapshots)


def test_a_group_response_says_all_that_csi_requires(host):
    group = take_group(host)
    assert group.group_snapshot_id == "g" and group.ready_to_use
    assert group.creation_time.seconds > 0
    assert sorted(snapshot.source_volume_id for snapshot in group.snapshots) == MEMBERS
    for snapshot in group.snapshots:
        assert snapshot.group_snapshot_id == "g" and snapshot.ready_to_use
        assert snapshot.size_bytes == SIZE and snapshot.creation_time.seconds > 0
    assert members(group) == listed(host) == in_zfs(host)


def test_members_are_of_one_transaction(host):
    names = [host.dataset(name) for name in members(take_group(host))]
    assert len({get(name, "createtxg") for name in names}) == 1 or not KERNEL_ZFS
    assert {get(name, "zcsi:group") for name in names} == {"g"}


def test_two_volumes_are_taken_together_or_not_at_all(host):
    if KERNEL_ZFS:
        assert len(take_group(host, ["a", "b"]).snapshots) == 2
        return
    with refused(CODE.FAILED_PRECONDITION, naming=("g", "zfs-fuse")):
        take_group(host, ["a", "b"])
    assert in_zfs(host) == []


def test_a_repeat_answers_the_same_group(host):
    first = take_group(host)
    assert members(take_group(host)) == members(first)
    host.node_daemon.kill()
    host.restart(host.node_daemon)
    again = take_group(host, MEMBERS[::-1])
    assert members(again) == members(first) == in_zfs(host)
    assert members(get_group(host, members(first))) == members(first)


def test_a_repeat_answers_the_same_after_a_volume_is_deleted(host):
    first = take_group(host)
    Volume(host, "a").delete()
    assert members(take_group(host)) == members(first)


def test_a_group_of_other_volumes_already_exists(host):
    take_group(host)
    for ids in (["b"], MEMBERS + ["made-up"], ["a", "b", "c", "d"][:len(MEMBERS) + 1]):
        with refused(CODE.ALREADY_EXISTS, naming="source_volume_ids"):
            take_group(host, ids)
    assert len(in_zfs(host)) == len(MEMBERS)


def test_a_group_of_an_earlier_volume_already_exists(host):
    take_group(host)
    Volume(host, "a").delete()
    Volume(host, "a").create()
    with refused(CODE.ALREADY_EXISTS, naming="a@"):
        take_group(host)


def test_a_volume_that_is_not_there_ends_the_group(host):
    with refused(CODE.NOT_FOUND, naming="made-up"):
        take_group(host, ["a", "made-up"])
    assert in_zfs(host) == []


def test_groups_and_snapshots_have_separate_names(host):
    take(Volume(host, "a"), "g")
    group = take_group(host)
    assert len(set(members(group) + ["a@g"])) == len(MEMBERS) + 1
    assert listed(host) == in_zfs(host)


def test_a_group_of_volumes_of_two_pools_is_refused(host, new_host):
    other = new_host(node_id="n2", agents=[f"unix://{host.agent_socket}"]).start()
    Volume(other, "away").create(accessibility_requirements={
        "requisite": [{"segments": {"zcsi.zfs/node": "n2"}}]})
    with refused(CODE.FAILED_PRECONDITION, naming=("a", "away")):
        take_group(other, ["a", "away"])
    assert in_zfs(host) == in_zfs(other) == []


def test_an_unknown_group_is_not_found(host):
    with refused(CODE.NOT_FOUND, naming="made-up"):
        get_group(host, [], "made-up")
    drop_group(host, ["a@x"], "made-up")


def test_members_that_are_not_those_of_the_group_are_refused(host):
    ids = members(take_group(host))
    single = take(Volume(host, "b")).snapshot_id
    for wrong in ([], ids[1:], [*ids, single], [single]):
        with refused(CODE.INVALID_ARGUMENT, naming="snapshot_ids"):
            get_group(host, wrong)
        with refused(CODE.INVALID_ARGUMENT, naming="snapshot_ids"):
            drop_group(host, wrong)
    assert in_zfs(host) == sorted([*ids, single])


def test_a_deleted_group_is_gone_with_all_its_members(host):
    ids = members(take_group(host))
    for _ in range(2):
        drop_group(host, ids)
        assert listed(host) == in_zfs(host) == []
    with refused(CODE.NOT_FOUND, naming="g"):
        get_group(host, ids)
    assert members(take_group(host)) == ids


def test_a_group_is_deleted_after_its_volumes(host):
    ids = members(take_group(host))
    for name in MEMBERS:
        Volume(host, name).delete()
    assert len(trashed(host)) == len(MEMBERS)
    assert members(get_group(host, ids)) == ids
    drop_group(host, ids)
    wait_for(lambda: not trashed(host), "the volumes are reaped")


def test_a_deletion_cut_short_is_finished_by_the_repeat(host):
    ids = members(take_group(host))
    run("zfs", "destroy", host.dataset(ids[0]))
    drop(host, ids[0])
    drop_group(host, ids)
    assert in_zfs(host) == []


def test_a_group_that_lost_a_member_is_not_completed(host):
    ids = members(take_group(host))
    drop(host, ids[0])
    if not KERNEL_ZFS:  # a group of one has lost all its members and can be taken again
        assert members(take_group(host)) == ids
        return
    with refused(CODE.ALREADY_EXISTS, naming="g"):
        take_group(host)
    assert in_zfs(host) == ids[1:]


def test_a_member_is_restored_as_any_snapshot(host):
    first = members(take_group(host))[0]
    copy = restore(host, first)
    assert copy.create(volume_content_source={
        "snapshot": {"snapshot_id": first}}).volume.content_source.snapshot.snapshot_id == first


def test_a_held_member_stops_the_deletion(host):
    ids = members(take_group(host))
    run("zfs", "hold", "backup", host.dataset(ids[-1]))
    with refused(CODE.FAILED_PRECONDITION, naming=ids[-1]):
        drop_group(host, ids)
    run("zfs", "release", "backup", host.dataset(ids[-1]))
    drop_group(host, ids)
    assert in_zfs(host) == []


@pytest.mark.parametrize("name", ["x" * 128, "ü" * 64, "a/b@c", "_clone-a", "-r"])
def test_any_name_of_a_group_lives_a_whole_life(host, name):
    group = take_group(host, name=name)
    assert group.group_snapshot_id == name
    assert all(len(member.encode()) <= 128 for member in members(group))
    host.node_daemon.kill()
    host.restart(host.node_daemon)
    assert members(take_group(host, name=name)) == members(group)
    drop_group(host, members(group), name)
    assert in_zfs(host) == []
