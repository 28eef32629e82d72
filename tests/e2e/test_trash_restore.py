# SPDX-License-Identifier: MPL-2.0
"""`zcsi trash`: what is in the trash, and the way back."""
import json
import os
import time

import grpc
import pytest

from client import refused
from host import get, KERNEL_ZFS
from snapshots import drop, listed, restore, take, trashed
from test_cli import rows, zcsi

LONG = 100000


@pytest.fixture
def host(new_host):
    """A host that keeps deleted volumes for more than a day."""
    return new_host(node_args=["--trash-ttl", LONG]).start()


def use(volume):
    for step in (volume.attach, volume.stage, volume.publish):
        step()


def test_a_deleted_volume_is_listed(host, volume):
    volume.create()
    take(volume)
    volume.delete()
    [row] = rows(zcsi(host, "trash", "list", "-Hp"))
    assert row[:2] == ["data", "n1"] and row[4] == "1" and row[7] == trashed(host)[0]
    assert abs(int(row[2]) - time.time()) < 3600 and int(row[3]) == int(row[2]) + LONG
    assert rows(zcsi(host, "trash", "list", "data", "-H")) != []
    assert json.loads(zcsi(host, "trash", "list", "other", "-o", "json"))["trash"] == []


def test_a_restored_volume_is_as_it_was(host, volume):
    volume.create(parameters={"zfs.compression": "zle"})
    use(volume)
    with open(f"{volume.target}/file", "w", encoding="ascii") as file:
        file.write("kept")
    volume.down()
    take(volume)
    guid = get(host.dataset("data"), "guid")
    volume.delete()
    assert zcsi(host, "trash", "restore", "data") == ""
    assert host.ids() == ["data"] and listed(host) == ["data@s"] and trashed(host) == []
    assert get(host.dataset("data"), "guid") == guid
    assert get(host.dataset("data"), "zcsi:deleted") == "-"
    volume.create(parameters={"zfs.compression": "zle"})
    use(volume)
    with open(f"{volume.target}/file", encoding="ascii") as file:
        assert file.read() == "kept"
    volume.down()
    drop(host, "data@s")
    host.read_again()
    assert host.ids() == ["data"]


def test_a_deleted_volume_is_chosen_by_its_guid(host, volume):
    guids = []
    for _ in range(2):
        volume.create()
        guids.append(get(host.dataset("data"), "guid"))
        volume.delete()
    assert "2 deleted volumes are named 'data'" in zcsi(host, "trash", "restore", "data", status=1)
    zcsi(host, "trash", "restore", f"data-{guids[0]}")
    assert get(host.dataset("data"), "guid") == guids[0]
    assert trashed(host) == [f"data-{guids[1]}"]


def test_no_volume_takes_the_name_of_another_one(host, new_host, volume):
    volume.create()
    volume.delete()
    other = new_host(node_id="n2").start()
    other.agent.CreateDataset(id="data", size=volume.size)
    both = [f"unix://{other.agent_socket}"]
    text = zcsi(host, "trash", "restore", "data", agents=both, status=1)
    assert "volume 'data' exists on node 'n2'" in text
    other.node_daemon.kill()
    text = zcsi(host, "trash", "restore", "data", agents=both, status=1)
    assert "all agents must answer" in text
    assert host.ids() == []
    leaf, = trashed(host)
    with refused(grpc.StatusCode.NOT_FOUND):
        host.agent.RestoreDataset(id="other", guid=int(leaf.split("-")[-1]), claim=1)


def test_a_clone_in_use_stays_mounted(host, volume):
    """zfs-fuse would unmount a clone when its source is renamed, so it is refused there."""
    volume.create()
    take(volume)
    copy = restore(host, "data@s")
    volume.delete()
    use(copy)
    if not KERNEL_ZFS:
        text = zcsi(host, "trash", "restore", "data", status=1)
        assert f"zfs-fuse would unmount '{host.dataset(copy.id)}'" in text
        copy.down()
    zcsi(host, "trash", "restore", "data")
    assert sorted(host.ids()) == sorted(["data", copy.id])
    if KERNEL_ZFS:
        assert os.path.ismount(copy.target) and os.path.ismount(copy.staging)
        copy.down()


@pytest.mark.parametrize("words, said", [
    (("restore",), "zcsi trash restore VOLUME"), (("burn",), "zcsi trash list"),
    (("restore", "none"), "no trash has a volume 'none'")])
def test_wrong_arguments_are_refused(host, words, said):
    assert said in zcsi(host, "trash", *words, status=1)
