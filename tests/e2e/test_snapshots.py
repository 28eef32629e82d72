# SPDX-License-Identifier: MPL-2.0
"""Snapshots: each name and each id belongs to one snapshot, and lists agree with ZFS."""
import os
import time

import grpc
import pytest

from client import MIB, refused
from host import get, run, SIZE, Volume
from snapshots import drop, in_zfs, listed, pages, restore, take

CODE = grpc.StatusCode


@pytest.fixture
def other(host):
    made = Volume(host, "other")
    made.create()
    return made


@pytest.fixture
def made(volume):
    volume.create()
    return volume


def by_hand(volume, name="hand"):
    """Take a snapshot as another tool would, and wait until the daemon lists it."""
    host = volume.host
    run("zfs", "snapshot", f"{host.dataset(volume.id)}@{name}")
    host.rescan(lambda: f"{volume.id}@{name}" in listed(host))
    return f"{volume.id}@{name}"


def test_a_snapshot_says_all_that_csi_requires(host, made):
    before = int(time.time())
    snapshot = take(made)
    assert (snapshot.snapshot_id, snapshot.source_volume_id) == ("data@s", "data")
    assert snapshot.ready_to_use and snapshot.size_bytes == SIZE
    assert before - 1 <= snapshot.creation_time.seconds <= time.time() + 1
    assert snapshot.group_snapshot_id == ""
    assert host.controller.GetSnapshot(snapshot_id="data@s").snapshot.snapshot_id == "data@s"


def test_a_snapshot_is_a_zfs_snapshot_with_properties(host, made):
    take(made, "a b")
    name = host.dataset("data@a_20b")
    assert get(name, "zcsi:snapshot") == "a_20b" and get(name, "zcsi:version") == "1"
    assert get(name, "zcsi:size") == str(SIZE)


def test_a_repeat_answers_the_same(host, made):
    first = take(made)
    assert take(made).snapshot_id == first.snapshot_id
    assert host.agent.SnapshotDataset(id="data", name="s").snapshot.id == first.snapshot_id
    assert in_zfs(host) == ["data@s"]


def test_a_repeat_answers_the_same_after_a_restart(host, made):
    before = int(time.time())
    first = take(made)
    host.node_daemon.kill()
    host.restart(host.node_daemon)
    again = take(made)
    assert (again.snapshot_id, again.size_bytes) == (first.snapshot_id, first.size_bytes)
    # ZFS's time is that of the snapshot; the first answer has the time at which zfs had ended.
    assert before - 1 <= again.creation_time.seconds <= first.creation_time.seconds + 1


def test_a_repeat_answers_the_same_after_the_volume_has_grown(host, made):
    take(made)
    made.expand(2 * SIZE)
    assert take(made).size_bytes == SIZE


def test_a_repeat_answers_the_same_after_the_volume_is_deleted(host, made):
    take(made)
    made.delete()
    assert take(made).snapshot_id == "data@s"


def test_a_snapshot_name_belongs_to_one_volume(host, made, other):
    take(made)
    with refused(CODE.ALREADY_EXISTS, naming=("data", "other", "source_volume_id")):
        take(other)
    with refused(CODE.ALREADY_EXISTS, naming="data"):
        host.agent.SnapshotDataset(id="other", name="s")
    assert in_zfs(host) == ["data@s"]


def test_a_snapshot_name_requested_concurrently_belongs_to_one_volume(host, made, other):
    create = host.controller.CreateSnapshot.future
    calls = [create(source_volume_id=source, name="s") for source in ("data", "other") * 4]
    codes = [call.code() for call in calls]
    winner, loser = ("data", "other") if codes[0] == CODE.OK else ("other", "data")
    wanted = {winner: CODE.OK, loser: CODE.ALREADY_EXISTS}
    assert codes == [wanted[source] for source in ("data", "other") * 4]
    assert in_zfs(host) == [f"{winner}@s"]


def test_a_name_can_be_used_again_after_its_snapshot(host, made, other):
    take(made)
    drop(host, "data@s")
    assert take(other).snapshot_id == "other@s"


def test_a_snapshot_of_an_earlier_volume_keeps_its_name(host, made):
    take(made)
    made.delete()
    made.create()
    with refused(CODE.ALREADY_EXISTS, naming=("data", "earlier")):
        take(made)
    assert take(made, "fresh").snapshot_id == "data@fresh"
    assert listed(host) == ["data@fresh", "data@s"]
    drop(host, "data@s")
    assert take(made).snapshot_id == "data@s"


def test_a_missing_volume_has_no_snapshot(host):
    with refused(CODE.NOT_FOUND, naming="made-up"):
        take(Volume(host, "made-up"))


def test_an_unknown_snapshot_is_not_found(host, made):
    with refused(CODE.NOT_FOUND, naming="data@made-up"):
        host.controller.GetSnapshot(snapshot_id="data@made-up")
    with refused(CODE.NOT_FOUND, naming="data@made-up"):
        restore(host, "data@made-up")
    assert host.leaves() == ["data"]


@pytest.mark.parametrize("name", ["data@made-up", "data", "@", "data@", "@s", "no/such@s", "-r",
                                  "data@a,b", "data@a%b", "x" * 200])
def test_deleting_a_snapshot_that_never_was_succeeds(host, made, name):
    take(made)
    drop(host, name)
    host.agent.DestroyDatasetSnapshot(id=name)
    assert in_zfs(host) == ["data@s"] and host.leaves() == ["data"]


def test_a_deleted_snapshot_is_gone(host, made):
    take(made)
    for _ in range(2):
        drop(host, "data@s")
        assert listed(host) == in_zfs(host) == []
    with refused(CODE.NOT_FOUND, naming="data@s"):
        host.controller.GetSnapshot(snapshot_id="data@s")


NAMES = ["../x", "a@b", "a/b", "-r", "ü" * 64, "x" * 128, "漢" * 42, "_clone-a", "_trash", ".",
         "line\nbreak", "%s%n", "a,b", "a_2Fb", "*", "a%b"]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_any_name_lives_a_whole_life(host, made, name):
    snapshot = take(made, name)
    assert len(snapshot.snapshot_id.encode()) <= 128
    host.node_daemon.kill()
    host.restart(host.node_daemon)
    assert take(made, name).snapshot_id == snapshot.snapshot_id
    assert listed(host) == listed(host, snapshot_id=snapshot.snapshot_id) == [snapshot.snapshot_id]
    restore(host, snapshot.snapshot_id).delete()
    drop(host, snapshot.snapshot_id)
    assert listed(host) == in_zfs(host) == []


def test_names_that_share_their_beginning_have_ids_of_their_own(host, made):
    ids = {take(made, "y" * 127 + last).snapshot_id for last in "abc"}
    assert len(ids) == 3 and sorted(ids) == listed(host)


@pytest.mark.parametrize("length", [112, 120, 128])
def test_the_longest_names_of_both_fit(host, length):
    volume = Volume(host, "v" * length)
    volume.create()
    snapshot = take(volume, "s" * 128)
    assert snapshot.source_volume_id == volume.id and len(snapshot.snapshot_id) <= 128
    host.node_daemon.kill()
    host.restart(host.node_daemon)
    assert listed(host) == [snapshot.snapshot_id]
    restore(host, snapshot.snapshot_id).delete()
    drop(host, snapshot.snapshot_id)
    assert listed(host) == in_zfs(host) == []


def test_lists_are_filtered(host, made, other):
    for volume, name in ((made, "a"), (made, "b"), (other, "c")):
        take(volume, name)
    assert listed(host) == ["data@a", "data@b", "other@c"]
    assert listed(host, source_volume_id="data") == ["data@a", "data@b"]
    assert listed(host, snapshot_id="data@b") == ["data@b"]
    assert listed(host, snapshot_id="data@b", source_volume_id="data") == ["data@b"]
    assert listed(host, snapshot_id="data@b", source_volume_id="other") == []
    assert listed(host, snapshot_id="made-up") == listed(host, source_volume_id="made-up") == []


def test_a_list_in_pages_has_each_once(host, made, other):
    every = sorted([take(made, f"s{n}").snapshot_id for n in range(5)]
                   + [take(other, f"t{n}").snapshot_id for n in range(2)])
    for size in (1, 2, 3, 6, 7, 8):
        found = list(pages(host, size))
        assert [name for page in found for name in page] == every
        assert all(len(page) == size for page in found[:-1])


def test_a_filtered_list_in_pages_stays_filtered(host, made, other):
    for volume, name in ((made, "a"), (made, "b"), (made, "c"), (other, "d")):
        take(volume, name)
    first = host.controller.ListSnapshots(max_entries=2, source_volume_id="data")
    rest = host.controller.ListSnapshots(max_entries=2, source_volume_id="data",
                                         starting_token=first.next_token)
    assert [entry.snapshot.snapshot_id for entry in rest.entries] == ["data@c"]
    assert rest.next_token == ""


def test_deletions_between_pages_skip_nothing_else(host, made):
    for n in range(6):
        take(made, f"s{n}")
    found = list(pages(host, 2, lambda page: drop(host, page[-1])))
    assert [name for page in found for name in page] == [f"data@s{n}" for n in range(6)]
    assert listed(host) == ["data@s0", "data@s2", "data@s4"]


def test_a_token_outlives_the_daemons(host, made):
    for name in "abc":
        take(made, name)
    token = host.controller.ListSnapshots(max_entries=1).next_token
    for daemon in (host.node_daemon, host.controller_daemon):
        daemon.kill()
        host.restart(daemon)
    assert listed(host, starting_token=token) == ["data@b", "data@c"]


def test_another_tools_snapshot_is_listed_without_a_name(host, made):
    assert by_hand(made) == "data@hand"
    snapshot = host.agent.GetDatasetSnapshot(id="data@hand").snapshot
    assert (snapshot.name, snapshot.dataset_id, snapshot.size) == ("", "data", SIZE)
    assert host.controller.GetSnapshot(snapshot_id="data@hand").snapshot.ready_to_use


def test_another_tools_snapshot_has_the_size_its_volume_has_now(host, made):
    by_hand(made)
    made.expand(2 * SIZE)
    assert host.controller.GetSnapshot(snapshot_id="data@hand").snapshot.size_bytes == 2 * SIZE
    with refused(CODE.OUT_OF_RANGE, naming=str(2 * SIZE)):
        restore(host, "data@hand")


@pytest.mark.parametrize("seen", [False, True], ids=["unseen", "seen"])
def test_another_tools_snapshot_blocks_its_name_and_is_kept(host, made, seen):
    run("zfs", "snapshot", host.dataset("data@s"))
    if seen:
        host.rescan(lambda: listed(host) == ["data@s"])
    with refused(CODE.ALREADY_EXISTS, naming="s"):
        take(made)
    with refused(CODE.FAILED_PRECONDITION, naming=("data@s", "zfs destroy")):
        drop(host, "data@s")
    assert in_zfs(host) == ["data@s"] and get(host.dataset("data@s"), "zcsi:snapshot") == "-"


def test_another_tools_new_snapshot_is_found_before_the_next_scan(new_host):
    """A deletion that searched only the catalog would be reported as done."""
    host = new_host(node_args=("--rescan", "3600")).start()
    Volume(host, "data").create()
    run("zfs", "snapshot", host.dataset("data@s"))
    with refused(CODE.FAILED_PRECONDITION, naming=("data@s", "zfs destroy")):
        drop(host, "data@s")
    assert host.controller.GetSnapshot(snapshot_id="data@s").snapshot.snapshot_id == "data@s"
    assert in_zfs(host) == ["data@s"]


def test_another_tools_snapshot_of_a_deleted_volume_stays(host, made):
    by_hand(made)
    made.delete()
    assert listed(host) == ["data@hand"]
    restore(host, "data@hand").delete()
    with refused(CODE.FAILED_PRECONDITION, naming="_trash"):
        drop(host, "data@hand")
    assert listed(host) == ["data@hand"]


def test_a_snapshot_of_no_volume_is_not_listed(host, made):
    run("zfs", "create", "-o", "mountpoint=none", host.dataset("foreign"))
    run("zfs", "snapshot", "-r", f"{host.parent}@all")
    host.rescan(lambda: listed(host) == ["data@all"])


def test_snapshots_are_taken_of_a_volume_in_use(host, volume):
    volume.up()
    with open(f"{volume.target}/file", "w", encoding="ascii") as file:
        file.write("then")
        file.flush()
        take(volume)
        file.write(", and later")
    copy = restore(host, "data@s")
    copy.attach(), copy.stage(), copy.publish()
    assert open(f"{copy.target}/file", encoding="ascii").read() == "then"
    copy.down().delete()
    volume.down().delete()


def test_a_pool_without_room_takes_no_snapshot(host, made):
    host.limit(SIZE + MIB)
    run("zfs", "set", f"refreservation={SIZE}", host.dataset("data"))
    made.attach(), made.stage(), made.publish()
    with open(f"{made.target}/file", "wb") as file:
        file.write(os.urandom(4 * MIB))
    run("sync", "-f", made.target)
    with refused(CODE.RESOURCE_EXHAUSTED, naming="data"):
        take(made)
    assert in_zfs(host) == listed(host) == []
    run("zfs", "set", "quota=none", host.parent)
    take(made)
    made.down()
