# SPDX-License-Identifier: MPL-2.0
"""The parameter keep: snapshots that zcsi-node takes and destroys by itself."""
import re
import time

import grpc
import pytest

from client import refused
from daemon import wait_for
from host import get, run, Volume
from snapshots import listed, restore, take, trashed

CODE = grpc.StatusCode
TAKEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ_(\w+)")


def leaves(dataset):
    names = run("zfs", "list", "-H", "-d", "1", "-t", "snapshot", "-o", "name", "-s", "creation",
                dataset)
    return [name.split("@")[1] for name in names.split()]


def units(dataset):
    """The units of each scheduled snapshot."""
    return [match[1] for match in map(TAKEN.fullmatch, leaves(dataset)) if match]


def taken(dataset, *expected):
    wait_for(lambda: sorted(units(dataset)) == sorted(expected), f"the snapshots are {expected}")


def change(volume, keep):
    volume.host.controller.ControllerModifyVolume(volume_id=volume.id,
                                                  mutable_parameters={"keep": keep})


def old(dataset, *names):
    """Take snapshots as an earlier zcsi-node did, years ago."""
    for name in names:
        run("zfs", "snapshot", f"{dataset}@{name}")


@pytest.fixture(autouse=True)
def away_from_midnight():
    """No period of a day or more ends within a test."""
    wait_for(lambda: time.time() % 86400 < 86400 - 60, "the day has begun", 90)


def test_a_snapshot_is_taken_at_once_for_all_units(host, volume, dataset):
    volume.create(parameters={"keep": "daily=2,monthly=12"})
    taken(dataset, "daily_monthly")
    change(volume, "daily=2,yearly=1")
    taken(dataset, "daily_monthly", "yearly")
    assert get(dataset, "zcsi:keep") == "daily=2,yearly=1"


def test_a_repeated_look_takes_no_second_one(host, volume, dataset):
    volume.create(parameters={"keep": "yearly=2"})
    taken(dataset, "yearly")
    other = Volume(host, "other")
    other.create(parameters={"keep": "yearly=2"})
    taken(host.dataset("other"), "yearly")
    host.node_daemon.kill()
    host.restart(host.node_daemon)
    change(other, "monthly=2,yearly=2")
    taken(host.dataset("other"), "yearly", "monthly")
    assert units(dataset) == ["yearly"]


def test_old_snapshots_go_and_nothing_else(host, volume, dataset):
    volume.create()
    old(dataset, "2020-01-01T00:00:00Z_yearly", "2021-01-01T00:00:00Z_daily_yearly",
        "2022-01-01T00:00:00Z_yearly", "2022-01-01T00:00:00Z", "2020-01-01T00:00:00Z_mine")
    take(volume, "2020-01-01T00:00:00Z_yearly")
    run("zfs", "clone", "-o", "canmount=off", f"{dataset}@2022-01-01T00:00:00Z_yearly",
        f"{host.parent}-clone")
    host.read_again()
    before = leaves(dataset)
    change(volume, "none")
    change(volume, "yearly=1,daily=1")
    wait_for(lambda: len(leaves(dataset)) == len(before) - 1, "those that may go are gone")
    assert [leaf for leaf in before if leaf not in leaves(dataset)] == \
        ["2020-01-01T00:00:00Z_yearly", "2021-01-01T00:00:00Z_daily_yearly"]
    run("zfs", "destroy", f"{host.parent}-clone")
    change(volume, "yearly=1")
    wait_for(lambda: "2022-01-01T00:00:00Z_yearly" not in leaves(dataset), "the clone is gone")
    assert len(leaves(dataset)) == 4


def test_snapshots_with_a_future_time_destroy_no_others(host, volume, dataset):
    volume.create()
    future = ["2098-01-01T00:00:00Z_daily", "2099-01-01T00:00:00Z_daily"]
    old(dataset, "2020-01-01T00:00:00Z_daily", "2021-01-01T00:00:00Z_daily", *future)
    host.read_again()
    change(volume, "daily=2")
    wait_for(lambda: "2020-01-01T00:00:00Z_daily" not in leaves(dataset), "the oldest is gone")
    taken(dataset, *["daily"] * 4)
    assert set(future) | {"2021-01-01T00:00:00Z_daily"} <= set(leaves(dataset))


def test_keep_none_destroys_no_snapshot(host, volume, dataset):
    volume.create(parameters={"keep": "daily=1"})
    taken(dataset, "daily")
    change(volume, "none")
    old(dataset, "2020-01-01T00:00:00Z_daily")
    host.read_again()
    other = Volume(host, "other")
    other.create(parameters={"keep": "daily=1"})
    taken(host.dataset("other"), "daily")
    assert len(units(dataset)) == 2


def test_scheduled_snapshots_are_restored_but_not_deleted_by_csi(host, volume, dataset):
    volume.create(parameters={"keep": "daily=1"})
    taken(dataset, "daily")
    leaf, = leaves(dataset)
    wait_for(lambda: listed(host) == [f"data@{leaf}"], "zcsi-node knows that it was taken")
    restore(host, f"data@{leaf}").delete()
    with refused(CODE.FAILED_PRECONDITION, naming=("schedule", "zfs destroy")):
        host.controller.DeleteSnapshot(snapshot_id=f"data@{leaf}")


def test_scheduled_snapshots_do_not_keep_a_deleted_volume(host, volume, dataset):
    volume.create(parameters={"keep": "daily=1"})
    taken(dataset, "daily")
    volume.delete()
    wait_for(lambda: host.leaves() in ([], ["_trash"]), "the volume is destroyed")


def test_scheduled_snapshots_stay_with_their_deleted_volume(new_host):
    host = new_host(node_args=["--trash-ttl", 100000]).start()
    volume = Volume(host, "data")
    volume.create(parameters={"keep": "daily=1"})
    taken(host.dataset("data"), "daily")
    volume.delete()
    host.read_again()
    leaf, = trashed(host)
    assert units(host.dataset(f"_trash/{leaf}")) == ["daily"]


@pytest.mark.parametrize("keep", ["hourly", "hourly=0", "hourly=1001", "every=5",
                                  "daily=1,daily=2"])
def test_another_value_is_refused(host, volume, keep):
    with refused(CODE.INVALID_ARGUMENT, naming=("keep", "hourly=24,daily=30")):
        volume.create(parameters={"keep": keep})
    with refused(CODE.INVALID_ARGUMENT, naming="zcsi:keep"):
        host.agent.CreateDataset(id="data", size=volume.size,
                                 properties=[{"name": "zcsi:keep", "value": keep}])
