# SPDX-License-Identifier: MPL-2.0
"""The commands of zcsi that change a volume: no controller takes part."""
import json

import pytest

from client import MIB
from host import get, run, SIZE
import snapshots
from snapshots import restore, take
from test_cli import rows, zcsi


@pytest.fixture
def alone(host):
    """The host, whose controller is killed."""
    host.controller_daemon.kill()
    return host


def printed(*hosts):
    """Return (id, name) of each snapshot that zcsi lists."""
    agents = [f"unix://{other.agent_socket}" for other in hosts[1:]]
    return [(row[0], row[5]) for row in rows(zcsi(hosts[0], "snapshots", "-Hp", agents=agents))]


def test_a_volume_grows_while_it_is_used(alone, volume, dataset):
    alone.agent.CreateDataset(id="data", size=SIZE)
    volume.stage()
    for _ in range(2):
        shown = dict(rows(zcsi(alone, "resize", "data", str(2 * SIZE), "-Hp")))
        assert shown["size"] == str(2 * SIZE) and shown["filesystem"] == "-"
        assert get(dataset, "refquota") == str(2 * SIZE)
    grown = json.loads(zcsi(alone, "resize", "data", "32M", "-o", "json"))["volume"]
    assert (grown["was"], grown["size"]) == (2 * SIZE, 32 * MIB)


def test_a_thick_volume_keeps_its_reservation(alone, dataset):
    alone.agent.CreateDataset(id="data", size=SIZE, properties=[
        {"name": "refreservation", "value": str(SIZE)}])
    zcsi(alone, "resize", "data", str(2 * SIZE))
    assert get(dataset, "refreservation") == get(dataset, "refquota") == str(2 * SIZE)


@pytest.mark.parametrize("size, said", [
    ("4M", "volumes never shrink"), ("more", "not a number of bytes"), ("-1", "unknown option"),
    ("0", "not a number of bytes"), ("9P", "not a number of bytes")])
def test_a_wrong_size_changes_nothing(host, volume, dataset, size, said):
    volume.create()
    assert said in zcsi(host, "resize", "data", size, status=2 if "option" in said else 1)
    assert get(dataset, "refquota") == str(SIZE)


def test_a_volume_without_a_size_is_not_given_one(host, volume, dataset):
    volume.create()
    run("zfs", "set", "refquota=none", dataset)
    host.read_again()
    assert "has no size" in zcsi(host, "resize", "data", "1G", status=1)
    assert get(dataset, "refquota") == "0"
    assert "'none' does not exist" in zcsi(host, "resize", "none", "1G", status=1)


def test_a_snapshot_is_one_of_csi(host, volume):
    """A snapshot that zcsi takes is listed, repeated, restored and deleted as CreateSnapshot's."""
    volume.create()
    for _ in range(2):
        assert rows(zcsi(host, "snapshot", "data", "monday", "-Hp"))[0][:3] == [
            "data@monday", "data", "n1"]
    assert snapshots.listed(host, source_volume_id="data") == ["data@monday"]
    assert take(volume, "monday").snapshot_id == "data@monday"
    copy = restore(host, "data@monday")
    host.controller.DeleteSnapshot(snapshot_id="data@monday")
    assert printed(host) == []
    copy.delete()


def test_a_snapshot_of_csi_is_dropped_by_zcsi(host, volume):
    volume.create()
    take(volume, "monday")
    shown = zcsi(host, "snapshot", "data@monday", "--drop", "--dry-run")
    assert "would destroy snapshot 'data@monday'" in shown
    assert snapshots.listed(host) == ["data@monday"]
    assert zcsi(host, "snapshot", "data@monday", "--drop") == ""
    assert snapshots.listed(host) == []
    assert "'zcsi snapshots' prints" in zcsi(host, "snapshot", "data@monday", "--drop", status=1)
    assert "zcsi snapshot SNAPSHOT --drop, or" in zcsi(host, "snapshot", "data", "monday",
                                                       "--drop", status=1)
    assert snapshots.listed(host) == []


def test_a_snapshot_of_another_tool_is_not_dropped(host, volume, dataset):
    volume.create()
    run("zfs", "snapshot", f"{dataset}@mine")
    assert f"zfs destroy {dataset}@mine" in zcsi(host, "snapshot", "data@mine", "--drop", status=1)
    assert get(f"{dataset}@mine", "type") == "snapshot"


def test_a_name_of_a_snapshot_is_not_taken_twice(host, other, volume):
    volume.create()
    other.agent.CreateDataset(id="away", size=SIZE)
    both = [f"unix://{other.agent_socket}"]
    zcsi(host, "snapshot", "away", "monday", agents=both)
    assert "of volume 'away' on node 'n2'" in zcsi(host, "snapshot", "data", "monday", agents=both,
                                                   status=1)
    assert "control character" in zcsi(host, "snapshot", "data", "a\x07b", status=1)
    assert printed(host, other) == [("away@monday", "monday")]


def test_a_snapshot_is_taken_while_another_host_is_down(alone, tmp_path):
    """A name that was given is not taken, because the other host may have it. One that zcsi chooses
    is."""
    alone.agent.CreateDataset(id="data", size=SIZE)
    down = [f"unix://{tmp_path}/none.sock"]
    text = zcsi(alone, "snapshot", "data", "monday", agents=down, status=1)
    assert "without NAME zcsi chooses one" in text and "all agents must answer" in text
    ids = [rows(zcsi(alone, "snapshot", "data", "-H", agents=down))[0][0] for _ in range(2)]
    assert sorted(row[0] for row in printed(alone)) == sorted(ids) and len(set(ids)) == 2
    zcsi(alone, "snapshot", ids[0], "--drop", agents=down)
    assert [row[0] for row in printed(alone)] == ids[1:]


def test_a_snapshot_on_two_hosts_needs_a_node(host, other):
    """Two hosts may have an id, if a volume was made again while one of them was away."""
    both = [f"unix://{other.agent_socket}"]
    for each in (host, other):
        each.agent.CreateDataset(id="data", size=SIZE)
        each.agent.SnapshotDataset(id="data", name="s")
    assert "choose one with --node" in zcsi(host, "snapshot", "data@s", "--drop", agents=both,
                                            status=1)
    zcsi(host, "snapshot", "data@s", "--drop", "--node", "n2", agents=both)
    assert printed(host) == [("data@s", "s")] and printed(other) == []
