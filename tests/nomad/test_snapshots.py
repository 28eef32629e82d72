# SPDX-License-Identifier: MPL-2.0
"""Snapshots are taken, listed page by page, restored and deleted; a volume is cloned."""
import re

import pytest

from nomad import nomad


def snapshot(name):
    nomad("volume", "snapshot", "create", "data", name)


def snapshot_delete(name):
    nomad("volume", "snapshot", "delete", "zcsi", f"data@{name}")


def listed(*options):
    """The ids, and the token that asks for what follows them."""
    text = nomad("volume", "snapshot", "list", "-plugin", "zcsi", *options)
    token = re.search(r"-page-token\s+(\S+)", text)
    return re.findall(r"^data@\S+", text, re.MULTILINE), token and token[1]


@pytest.fixture
def writer(create, consumer):
    create("data")
    made = consumer("writer", "data").started()
    made.write("words", "before")
    return made


def test_a_volume_of_a_snapshot(writer, create, consumer):
    snapshot("monday")
    writer.write("words", "after")
    create("restored", snapshot_id="data@monday")
    assert consumer("reader", "restored").started().read("words") == "before"
    assert writer.read("words") == "after"
    snapshot_delete("monday")


def test_a_clone(writer, create, consumer):
    create("cloned", clone_id="data")
    clone = consumer("reader", "cloned").started()
    assert clone.read("words") == "before"
    clone.write("words", "its own")
    assert writer.read("words") == "before"


def test_listed_by_two(writer):
    for name in "abc":
        snapshot(name)
    first, token = listed("-per-page", "2")
    rest, end = listed("-per-page", "2", "-page-token", token)
    assert sorted(first + rest) == ["data@a", "data@b", "data@c"]
    assert len(first) == 2 and not end
    for name in "abc":
        snapshot_delete(name)
    assert listed()[0] == []
