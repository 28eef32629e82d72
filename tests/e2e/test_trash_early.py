# SPDX-License-Identifier: MPL-2.0
"""The trash is emptied early while the pool is full: the oldest deleted volumes go first, no more
than it takes, and none that anything depends on."""
import os
import time

import grpc
import pytest

from client import MIB, refused
from daemon import wait_for
from host import run, SIZE, Volume
from pages import page
from snapshots import in_zfs, listed, restore, take, trashed

CODE = grpc.StatusCode
LONG = 100000
WRITTEN = 3 * SIZE // 4
EARLY = "deleted volume was destroyed before its time, because the pool is full"


@pytest.fixture
def crowded(new_host):
    """A function that returns a host that keeps deleted volumes for more than a day, unless less
    than so many percent of the pool are free."""
    def make(percent, rescan=1):
        host = new_host(node_args=["--trash-ttl", LONG, "--trash-free", percent,
                                   "--rescan", rescan])
        host.node_daemon.metrics = f"{host.folder}/metrics"
        host.node_daemon.argv += ["--metrics", f"unix://{host.node_daemon.metrics}"]
        return host.start()
    return make


def record(host, leaf, deleted):
    run("zfs", "set", f"zcsi:deleted={deleted}", host.dataset(f"_trash/{leaf}"))


def delete(host, volume, ago=0):
    """Delete a volume, with a time of deletion that many seconds ago. Return its name there."""
    before = trashed(host)
    volume.delete()
    [leaf] = set(trashed(host)) - set(before)
    if ago:
        record(host, leaf, int(time.time()) - ago)
    return leaf


def filled(host, name, **fields):
    """Create a volume, and write three quarters of its size."""
    volume = Volume(host, name)
    volume.create(**fields)
    volume.attach()
    volume.stage()
    volume.publish()
    with open(f"{volume.target}/file", "wb") as file:
        file.write(os.urandom(WRITTEN))
        os.fsync(file.fileno())
    return volume.down()


def early(host):
    """Return what the log says of volumes that were destroyed early."""
    return [line for line in host.node_daemon.log() if line["msg"] == EARLY]


def emptied(host):
    wait_for(lambda: early(host), "the trash is emptied early")
    host.read_again()
    return early(host)


def metric(host, name):
    status, text = page(host.node_daemon, "/metrics")
    assert status == 200
    [line] = [line for line in text.splitlines() if line.split("{")[0].split(" ")[0] == name]
    return float(line.split()[-1])


def test_the_oldest_goes_first_and_no_more_than_it_takes(crowded):
    host = crowded(20)
    old, new, middle = (delete(host, filled(host, name), ago) for name, ago in
                        (("c", 3000), ("a", 1000), ("b", 2000)))
    host.read_again()
    assert set(trashed(host)) == {old, new, middle}
    assert 3 * WRITTEN <= metric(host, "zcsi_trashed_used_bytes") < 4 * WRITTEN
    assert metric(host, "zcsi_trash_emptied_early_total") == 0
    host.limit(3 * WRITTEN + 4 * MIB)
    [line] = emptied(host)
    assert set(trashed(host)) == {middle, new}
    assert (line["level"], line["volume"]) == ("warn", "c") and line["dataset"].endswith(old)
    assert WRITTEN <= line["freed_bytes"] < SIZE
    assert metric(host, "zcsi_trash_emptied_early_total") == 1
    assert metric(host, "zcsi_trash_emptied_early_bytes_total") == line["freed_bytes"]


def test_volumes_are_destroyed_until_there_is_room(crowded):
    host = crowded(60)
    for name, ago in (("a", 3000), ("b", 2000), ("c", 1000)):
        delete(host, filled(host, name), ago)
    host.limit(3 * WRITTEN + 3 * MIB)
    assert [line["volume"] for line in emptied(host)] == ["a", "b"]
    assert len(trashed(host)) == 1


def test_with_0_nothing_is_destroyed_early(crowded):
    host = crowded(0)
    leaf = delete(host, filled(host, "data"))
    host.limit(WRITTEN + MIB)
    host.read_again()
    assert trashed(host) == [leaf] and not early(host)


def test_needed_volumes_and_those_of_unknown_age_stay(crowded):
    """A pool without any room: all that may go goes, and what else is in the trash stays."""
    host = crowded(90)
    now = int(time.time())
    snapped, origin = filled(host, "snapped"), filled(host, "origin")
    take(snapped)
    take(origin, "o")
    restore(host, "origin@o")
    held = [delete(host, volume, 5000) for volume in (snapped, origin)]
    host.controller.DeleteSnapshot(snapshot_id="origin@o")
    kept, future, plain = (delete(host, filled(host, name)) for name in ("kept", "future", "plain"))
    with host.frozen():
        record(host, kept, f"{now - 4000}+2592000")
        record(host, future, now + 4000)
        host.limit(6 * SIZE)
    assert [line["dataset"].split("/")[-1] for line in emptied(host)] == [plain]
    assert set(trashed(host)) == {*held, kept, future} and listed(host) == ["snapped@s"]
    assert host.ids() == ["copy"]


def test_snapshots_of_a_schedule_go_too(crowded):
    host = crowded(90)
    volume = filled(host, "data", parameters={"keep": "daily=2"})
    wait_for(lambda: len(in_zfs(host)) == 1, "the scheduled snapshot is taken")
    delete(host, volume)
    host.limit(SIZE + 4 * MIB)
    assert [line["volume"] for line in emptied(host)] == ["data"]
    assert in_zfs(host) == [] and trashed(host) == []


def test_a_volume_is_created_in_the_room_of_deleted_ones(crowded):
    """The pool is read when the call is refused, so it need not be repeated."""
    host = crowded(50, rescan=3600)
    leaf = delete(host, filled(host, "data"))
    host.read_again()
    host.limit(WRITTEN + MIB)
    assert trashed(host) == [leaf]
    Volume(host, "next", size=SIZE // 2).create(parameters={"provisioning": "thick"})
    assert trashed(host) == [] and host.ids() == ["next"]
    assert [line["volume"] for line in early(host)] == ["data"]


def test_a_volume_grows_into_the_room_of_deleted_ones(crowded):
    host = crowded(50, rescan=3600)
    volume = Volume(host, "grows", size=MIB)
    volume.create(parameters={"provisioning": "thick"})
    leaf = delete(host, filled(host, "data"))
    host.read_again()
    host.limit(WRITTEN + 2 * MIB)
    assert trashed(host) == [leaf]
    volume.expand(SIZE // 2)
    assert trashed(host) == [] and volume.record().size == SIZE // 2


def test_a_call_that_is_too_large_empties_nothing(crowded):
    """More is free than --trash-free wants, so the call fails and the trash stays."""
    host = crowded(10, rescan=3600)
    leaf = delete(host, filled(host, "data"))
    host.read_again()
    host.limit(3 * SIZE)
    with refused(CODE.RESOURCE_EXHAUSTED, naming="large"):
        Volume(host, "large", size=16 * SIZE).create(parameters={"provisioning": "thick"})
    assert trashed(host) == [leaf] and not early(host)


@pytest.mark.parametrize("percent", ["-1", "some", "91", ""])
def test_a_percentage_that_is_none_is_refused(new_host, percent):
    host = new_host(node_args=["--trash-free", percent])
    host.node_daemon.spawn()
    assert host.node_daemon.wait() != 0
    assert "trash-free" in host.node_daemon.text()
    host.node_daemon.log_path.unlink()
