# SPDX-License-Identifier: MPL-2.0
"""Snapshots are created, listed in pages, restored and deleted; a volume is cloned."""
import pytest

from nomad import nomad, snapshot_delete, snapshots


def snapshot(name):
    nomad("volume", "snapshot", "create", "data", name)


@pytest.fixture
def writer(create, consumer):
    create("data")
    made = consumer("writer", "data").started()
    made.write("words", "before")
    return made


def test_a_restored_volume_has_the_data_of_its_snapshot(writer, create, consumer):
    snapshot("monday")
    writer.write("words", "after")
    create("restored", snapshot_id="data@monday")
    assert consumer("reader", "restored").started().read("words") == "before"
    assert writer.read("words") == "after"
    snapshot_delete("data@monday")


def test_a_clone_is_independent_of_its_source(writer, create, consumer):
    create("cloned", clone_id="data")
    clone = consumer("reader", "cloned").started()
    assert clone.read("words") == "before"
    clone.write("words", "its own")
    assert writer.read("words") == "before"


def test_snapshots_are_listed_in_pages(writer):
    for name in "abc":
        snapshot(name)
    first, token = snapshots("-per-page", "2")
    rest, end = snapshots("-per-page", "2", "-page-token", token)
    assert sorted(first + rest) == ["data@a", "data@b", "data@c"]
    assert len(first) == 2 and not end
    for id in first + rest:
        snapshot_delete(id)
    assert snapshots() == ([], None)
