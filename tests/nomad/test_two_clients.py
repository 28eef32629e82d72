# SPDX-License-Identifier: MPL-2.0
"""A second client joins, with a pool of its own. A volume is used where it is, and waits for it."""
import pytest

from client import ROOT
from daemon import BUILD
from host import datasets
from nomad import (
    ADDRESSES, Agent, api, blocked, job_run, job_stop, nomad, plugin, tried, until, volume_create,
    volume_delete)

POOL_MB = 256


@pytest.fixture(scope="module")
def second(folder, pools, certificates, zcsi):
    """The id of the client n2; the dataset of its volumes."""
    dataset = f"{pools.create('zcsi-nomad-2', POOL_MB)}/zcsi"
    agent = Agent(folder, "n2", "-servers", f"{ADDRESSES['n1']}:4647").start()
    job_run(ROOT / "jobs/node.nomad.hcl", "-detach", job="zcsi-node-2", datacenters='["n2"]',
            dataset=dataset, certificates=certificates, data_dir=agent.data,
            program=BUILD / "zcsi-node")
    until(lambda: (plugin() or {}).get("NodesHealthy") == 2, "both clients are healthy")
    yield next(node["ID"] for node in api("nodes") if node["Name"] == "n2"), dataset
    job_stop("zcsi-node-2")
    agent.stop()
    until(lambda: tried(volume_create, "after"), "the controller has forgotten n2")
    volume_delete("after")


@pytest.fixture
def far(create, second):
    """A volume on n2, once the controller has been told of n2."""
    until(lambda: tried(create, "far", parameters={"node": "n2"}), "a volume on n2")
    return "far"


def test_a_volume_is_used_where_it_is(second, far, consumer):
    _, dataset = second
    assert datasets(dataset) == [f"{dataset}/far"]
    user = consumer("user", far).started()
    assert user.allocs[0]["NodeName"] == "n2"


def test_when_its_client_is_drained_it_waits(second, far, consumer):
    node, _ = second
    user = consumer("user", far).started()
    user.write("words", "on n2")
    nomad("node", "drain", "-enable", "-yes", "-ignore-system", "-deadline", "10s", node)
    try:
        until(lambda: blocked("user"), "it is placed nowhere")
        assert "did not meet topology requirement" in " ".join(blocked("user"))
    finally:
        nomad("node", "drain", "-disable", "-yes", node)
    user.started()
    assert user.allocs[0]["NodeName"] == "n2"
    assert user.read("words") == "on n2"
