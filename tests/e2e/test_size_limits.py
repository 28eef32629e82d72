# SPDX-License-Identifier: MPL-2.0
"""--overcommit and --limit: the sizes of volumes together stay within the limits of their node, and
what would exceed them is refused with the sum, the limit and the option."""
import concurrent.futures
import itertools
import subprocess

import grpc
import pytest

from client import MIB, refused
from host import get, run, SIZE, Volume
from pages import page
from snapshots import of_volume, restore, take, trashed
from test_adopt import command, is_left, zcsi

CODE = grpc.StatusCode
POOL = 64 * MIB  # the quota of the parent dataset


def quota(host, size):
    run("zfs", "set", f"quota={size}", host.parent)


@pytest.fixture
def limited(new_host):
    """A function that returns a host with these options, whose parent has a quota of POOL."""
    def make(*args, **fields):
        host = new_host(node_args=["--trash-free", 0, *args], **fields)
        quota(host, POOL)
        host.node_daemon.metrics = f"{host.folder}/metrics"
        host.node_daemon.argv += ["--metrics", f"unix://{host.node_daemon.metrics}"]
        return host.start()
    return make


def metrics(host):
    """Return the metrics with "promised" in their names: name -> (label, value)."""
    status, text = page(host.node_daemon, "/metrics")
    assert status == 200
    return {line.split("{")[0]: (line.split('"')[1], float(line.split()[-1]))
            for line in text.splitlines() if "promised" in line and line[0] != "#"}


def too_much(*words):
    return refused(CODE.RESOURCE_EXHAUSTED, naming=words)


def create(host, name, size=SIZE, **fields):
    return Volume(host, name, size=size).create(**fields)


def test_without_the_options_volumes_are_larger_than_the_pool(limited):
    host = limited()
    create(host, "huge", 5 << 40)
    assert host.ids() == ["huge"] and not metrics(host) and not host.agent.GetHost().size_limits
    assert host.controller.GetCapacity().maximum_volume_size.value == 1 << 60


def limit_of(host):
    """Return the limit in bytes. The size of the pool is the quota, but zfs-fuse counts a little
    of what is reserved for the parent twice."""
    [limit] = host.agent.GetHost().size_limits
    return limit.limit


def test_the_sizes_of_all_volumes_stay_within_the_ratio(limited):
    host = limited("--overcommit", "1.5")
    most = limit_of(host)
    assert POOL * 1.5 - MIB < most <= POOL * 1.5
    create(host, "a", POOL)
    before = host.state()
    with too_much("--overcommit 1.5;", f"{most + 1} bytes in all, and the limit is {most},"):
        create(host, "b", most - POOL + 1)
    assert host.state() == before
    create(host, "b", most - POOL - MIB)
    metric = metrics(host)
    assert metric["zcsi_pool_promised_bytes"] == (host.parent, most - MIB)
    assert metric["zcsi_pool_promised_limit_bytes"] == (host.parent, most)
    capacity = host.controller.GetCapacity()
    assert capacity.maximum_volume_size.value == capacity.available_capacity == MIB
    create(host, "c", MIB)
    assert host.controller.GetCapacity().available_capacity == 0
    create(host, "a", POOL)


def test_the_limit_follows_the_size_of_the_pool(limited):
    host = limited("--overcommit", "1")
    size = limit_of(host) - 2 * MIB
    create(host, "a", size)
    quota(host, POOL // 2)
    host.read_again()
    assert limit_of(host) <= POOL // 2
    with too_much("--overcommit 1;", f"the limit is {limit_of(host)},"):
        create(host, "b", MIB)
    quota(host, POOL)
    host.read_again()
    create(host, "b", MIB)
    assert host.ids() == ["a", "b"]


@pytest.mark.parametrize("fields", [{}, {"parameters": {"provisioning": "thick"}}])
def test_each_way_to_make_or_grow_a_volume_counts(limited, fields):
    host = limited("--limit", "prod-=16M", "--trash-ttl", 1000)
    volume = Volume(host, "prod-a")
    volume.create(**fields)
    take(volume)
    create(host, "other", 40 * MIB)
    option = "--limit prod-=16777216"
    with too_much(option):
        create(host, "prod-b", SIZE + 1)
    with too_much(option):
        volume.expand(2 * SIZE + 1)
    assert volume.record().size == SIZE
    restore(host, "prod-a@s", "prod-b")
    with too_much(option):
        restore(host, "prod-a@s", "prod-c")
    with too_much(option):
        create(host, "prod-c", **of_volume("prod-a"))
    Volume(host, "prod-b").delete()
    volume.expand(2 * SIZE)
    assert volume.record().size == 2 * SIZE and len(trashed(host)) == 1
    assert metrics(host)["zcsi_prefix_promised_bytes"] == ("prod-", 2 * SIZE)
    assert metrics(host)["zcsi_prefix_promised_limit_bytes"] == ("prod-", 2 * SIZE)


def test_a_deleted_volume_counts_again_when_it_is_restored(limited):
    host = limited("--limit", "prod-=16M", "--trash-ttl", 1000)
    create(host, "prod-a", 2 * SIZE)
    Volume(host, "prod-a").delete()
    create(host, "prod-b", SIZE)
    assert "--limit prod-=16777216" in zcsi(host, "trash", "restore", "prod-a", status=1)
    assert host.ids() == ["prod-b"] and len(trashed(host)) == 1
    Volume(host, "prod-b").delete()
    zcsi(host, "trash", "restore", "prod-a")
    assert host.ids() == ["prod-a"]


def test_a_rename_counts_for_the_new_name(limited):
    host = limited("--limit", "prod-=8M", "--overcommit", "0.3")
    create(host, "prod-a")
    create(host, "test-a")
    assert "--limit prod-=8388608" in zcsi(host, "rename", "test-a", "prod-b", status=1)
    assert host.ids() == ["prod-a", "test-a"]
    for former, name in (("prod-a", "old-a"), ("test-a", "prod-b")):
        zcsi(host, "rename", former, name)
    assert host.ids() == ["old-a", "prod-b"]


def test_a_received_volume_waits_for_room(limited):
    host = limited("--limit", "copy=7M")
    volume = Volume(host, "data")
    volume.create()
    take(volume, "one")
    stream = subprocess.run([*command(host), "send", "data@one"], stdout=subprocess.PIPE,
                            check=True).stdout
    text = zcsi(host, "receive", "copy", "--size", "8M", data=stream, status=1)
    assert "--limit copy=7340032" in text
    assert is_left(host) and host.ids() == ["data"]
    zcsi(host, "adopt", "copy", "--size", "7M")
    assert host.ids() == ["copy", "data"] and not is_left(host)


def test_changes_by_hand_count(limited):
    host = limited("--limit", "prod-=16M")
    create(host, "prod-a")
    run("zfs", "set", f"refquota={2 * SIZE}", host.dataset("prod-a"))
    host.read_again()
    with too_much("--limit prod-=16777216"):
        create(host, "prod-b", MIB)
    run("zfs", "set", "refquota=none", host.dataset("prod-a"))
    host.read_again()
    create(host, "prod-b", SIZE)


def test_after_a_restart_the_sums_are_known(limited):
    host = limited("--overcommit", "1")
    create(host, "a", limit_of(host))
    host.node_daemon.kill()
    host.restart(host.node_daemon)
    with too_much("--overcommit 1;"):
        create(host, "b", MIB)


def test_calls_at_the_same_time_stay_within_the_limit(limited):
    """16 callers ask for 1 or 2 MiB each, until no more fits; some of them take volumes away."""
    host = limited("--overcommit", "0.5")
    most, numbers = limit_of(host), itertools.count()

    def caller(which):
        made = refusals = 0
        while refusals < 2:
            name = f"v{next(numbers)}"
            try:
                create(host, name, (1 + which % 2) * MIB)
                made += 1
            except grpc.RpcError as error:
                assert error.code() == CODE.RESOURCE_EXHAUSTED, error
                refusals += 1
            if which < 4 and made == 2:
                Volume(host, name).delete()
        return made

    with concurrent.futures.ThreadPoolExecutor(16) as callers:
        assert sum(callers.map(caller, range(16))) >= most // (2 * MIB)
    sizes = [e.volume.capacity_bytes for e in host.controller.ListVolumes().entries]
    assert most - MIB <= sum(sizes) <= most
    quotas = [int(get(host.dataset(name), "refquota")) for name in host.ids()]
    assert sorted(quotas) == sorted(sizes)


@pytest.mark.parametrize("option, value", [("--overcommit", "x"), ("--overcommit", "-1"),
                                           ("--limit", "prod-"), ("--limit", "prod-=many")])
def test_a_value_that_is_none_is_refused(new_host, option, value):
    host = new_host(node_args=[option, value])
    host.node_daemon.spawn()
    assert host.node_daemon.wait() != 0
    assert option in host.node_daemon.text() and value in host.node_daemon.text()
    host.node_daemon.log_path.unlink()
