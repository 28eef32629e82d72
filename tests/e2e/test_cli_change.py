# SPDX-License-Identifier: MPL-2.0
"""The commands of zcsi that change a volume: no controller takes part."""
import json

import pytest

from client import MIB
from host import get, run, SIZE
from test_cli import rows, zcsi


@pytest.fixture
def dataset(host):
    return host.dataset("data")


@pytest.fixture
def alone(host):
    """The host, whose controller is killed."""
    host.controller_daemon.kill()
    return host


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
