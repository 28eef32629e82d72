# SPDX-License-Identifier: MPL-2.0
"""A volume that two hosts have, because it was created again while one of the two was down. If one
of the two was never used, it goes to the trash by itself; anything else waits for a person."""
import contextlib
import time
from pathlib import Path

import grpc
import pytest

from client import refused
from cluster import Cluster
from daemon import wait_for
from host import KERNEL_ZFS, SIZE, get, run
from snapshots import trashed

CODE = grpc.StatusCode
TWICE = "exists twice"


@pytest.fixture
def cluster(pool):
    with contextlib.closing(Cluster([pool] * 2, controllers=2)) as made:
        made.settled()
        yield made


def volume_of(host, name="data"):
    return host.agent.GetDataset(id=name).dataset


def make(host, name="data"):
    """Create the volume past the controllers, and wait until its agent has read it from ZFS."""
    host.agent.CreateDataset(id=name, size=SIZE)
    wait_for(lambda: volume_of(host, name).guid, "the volume is read")


def use(host):
    """Publish the volume once, past the controllers."""
    host.agent.PublishDataset(
        id="data", publication={"node_id": host.node_id, "access_mode": 1})
    host.agent.UnpublishDataset(id="data", node_id=host.node_id)


def made_twice(cluster, first, second):
    """Create the volume on both hosts, on the second one in a later second."""
    make(first)
    wait_for(lambda: time.time() > volume_of(first).creation + 1, "the next second")
    make(second)
    assert volume_of(first).creation < volume_of(second).creation


def look(controller, name="data"):
    return controller.ControllerGetVolume(volume_id=name).status.published_node_ids


def stays_twice(cluster):
    for controller in cluster.controllers:
        with refused(CODE.FAILED_PRECONDITION, naming=TWICE):
            look(controller)
    assert cluster.where() == {"data": ["a", "b"]}


def mounted(host, folder):
    """Mount the volume as a person might."""
    if KERNEL_ZFS:
        run("mount", "-t", "zfs", host.dataset("data"), folder)
    else:
        run("zfs", "set", f"mountpoint={folder}", host.dataset("data"))
        run("zfs", "mount", host.dataset("data"))


def test_the_later_of_two_unused_duplicates_is_trashed(cluster):
    a, b = cluster.hosts
    made_twice(cluster, b, a)
    assert volume_of(a).maybe_blank and volume_of(b).maybe_blank
    look(cluster.controllers[0])
    assert b.leaves() == ["data"]
    leaf, = trashed(a)
    assert leaf == f"data-{get(a.dataset(f'_trash/{leaf}'), 'guid')}"
    look(cluster.controllers[1])
    said = "volume is in the trash: it was never used, and another node has it too"
    assert [(line["node"], line["other"]) for line in a.node_daemon.log()
            if line["msg"] == said] == [("a", "b")]
    assert not volume_of(b).maybe_blank
    # The trash keeps it, although --trash-ttl is 0.
    a.read_again()
    assert trashed(a) == [leaf]
    a.node_daemon.stop()
    a.node_daemon.start()
    a.read_again()
    assert trashed(a) == [leaf]


def test_a_published_duplicate_is_kept(cluster):
    a, b = cluster.hosts
    made_twice(cluster, a, b)
    use(b)
    assert volume_of(a).maybe_blank and not volume_of(b).maybe_blank
    look(cluster.controllers[0])
    assert (b.leaves(), len(trashed(a))) == (["data"], 1)


def test_two_published_duplicates_are_kept(cluster):
    a, b = cluster.hosts
    made_twice(cluster, a, b)
    for host in (a, b):
        use(host)
    stays_twice(cluster)


def test_a_duplicate_with_a_snapshot_is_kept(cluster):
    a, b = cluster.hosts
    made_twice(cluster, a, b)
    use(a)
    b.agent.SnapshotDataset(id="data", name="s")
    stays_twice(cluster)


def test_a_duplicate_with_a_file_is_kept(cluster, tmp_path):
    a, b = cluster.hosts
    made_twice(cluster, a, b)
    use(a)
    mounted(b, tmp_path)
    (tmp_path / "file").write_text("")  # takes no block of its own
    run("umount", tmp_path)
    assert volume_of(b).maybe_blank
    stays_twice(cluster)
    assert not volume_of(b).maybe_blank
    mounted(b, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    run("umount", tmp_path)


def test_a_mounted_duplicate_is_kept(cluster, tmp_path):
    a, b = cluster.hosts
    made_twice(cluster, a, b)
    use(a)
    mounted(b, tmp_path)
    stays_twice(cluster)
    (tmp_path / "file").write_text("written since")
    run("umount", tmp_path)
    stays_twice(cluster)


def test_a_look_leaves_nothing_mounted(cluster):
    a, b = cluster.hosts
    made_twice(cluster, a, b)
    places = [Path(f"/run/zcsi/look-{volume_of(host).guid}") for host in (a, b)]
    look(cluster.controllers[0])
    assert f"{b.parent}/" not in Path("/proc/self/mountinfo").read_text()
    assert not any(place.exists() for place in places)


def test_a_duplicate_is_not_deleted(cluster):
    a, b = cluster.hosts
    made_twice(cluster, a, b)
    use(a)
    for controller in cluster.controllers:
        with refused(CODE.FAILED_PRECONDITION, naming=TWICE):
            controller.DeleteVolume(volume_id="data")
    assert cluster.where() == {"data": ["a", "b"]}


def test_the_keeper_counts_as_used_before_the_other_is_given_up(cluster):
    """An agent never gives up a volume that was chosen once, whichever SettleDataset follows."""
    a, b = cluster.hosts
    made_twice(cluster, a, b)
    a.agent.SettleDataset(id="data", guid=volume_of(a).guid)
    with refused(CODE.FAILED_PRECONDITION, naming="may have data"):
        a.agent.SettleDataset(id="data", guid=volume_of(a).guid, keeper="b")
    assert get(a.dataset("data"), "zcsi:published") == "-"
    with refused(CODE.FAILED_PRECONDITION, naming="another one"):
        b.agent.SettleDataset(id="data", guid=volume_of(a).guid, keeper="a")
    assert cluster.where() == {"data": ["a", "b"]}
    b.agent.SettleDataset(id="data", guid=volume_of(b).guid, keeper="a")
    b.agent.SettleDataset(id="data", guid=volume_of(a).guid, keeper="a")  # b has none any more
    assert (a.leaves(), len(trashed(b))) == (["data"], 1)


def test_two_controllers_keep_one_of_each_duplicate(cluster):
    a, b = cluster.hosts
    names = [f"v{n}" for n in range(4)]
    for name in names:
        for host in (a, b):
            host.agent.CreateDataset(id=name, size=SIZE)
    for name in names:
        for host in (a, b):
            wait_for(lambda: volume_of(host, name).guid, "the volume is read")
    calls = [controller.ControllerGetVolume.future(volume_id=name)
             for name in names for controller in cluster.controllers]
    for call in calls:
        assert call.code() in (CODE.OK, CODE.FAILED_PRECONDITION), call.details()
    for name in names:
        look(cluster.controllers[0], name)
    kept = sorted(leaf for host in (a, b) for leaf in host.leaves() if "_trash" not in leaf)
    assert kept == names
