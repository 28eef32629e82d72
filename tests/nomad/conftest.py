# SPDX-License-Identifier: MPL-2.0
"""Fixtures: one Nomad for the session, which runs the jobs of jobs/ unchanged over a real pool. A
missing prerequisite is an error, never a skip. Everything runs in namespaces of its own, which
tests/nomad/alone creates and which end with the session."""
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from client import ROOT  # noqa: E402
from daemon import BUILD  # noqa: E402
from host import mounts, run  # noqa: E402
from nomad import (  # noqa: E402
    ADDRESSES, PROGRAM, Agent, Consumer, accepted, api, healthy, job_run, job_stop, until, volume,
    volume_create, volume_delete)
from pool import Pools  # noqa: E402

collect_ignore = ["containers", *([] if "OPENZFS" in os.environ else ["openzfs"])]
POOL_MB = 512
SECOND_POOL_MB = 256


def pytest_configure(config):
    missing = [path for path in (BUILD / "zcsi-node", BUILD / "zcsi-controller", PROGRAM)
               if not path.exists()]
    if missing:
        raise pytest.UsageError(f"there is no {missing[0]}: run make nomad")
    if "n1" not in (name for _, name in socket.if_nameindex()):
        raise pytest.UsageError("run it by tests/nomad/alone")


@pytest.fixture(scope="session")
def folder():
    """Path of a new folder. Devices of tasks are mounted below it, so its removal stays on one
    file system."""
    made = tempfile.mkdtemp(prefix="zcsi-nomad-")
    yield Path(made)
    run("rm", "-rf", "--one-file-system", made)


@pytest.fixture(scope="session")
def pools(folder):
    made = Pools(folder)
    yield made
    for point, _ in reversed(mounts(f"{folder}/")):
        subprocess.run(["umount", "-l", point], check=True)
    made.close()


@pytest.fixture(scope="session")
def certificates(folder):
    run(ROOT / "jobs/local/certs", folder / "certs", "controller.zcsi", "operator.zcsi",
        *(f"{node},{address},node.zcsi" for node, address in ADDRESSES.items()))
    return folder / "certs"


@pytest.fixture(scope="session")
def agent(folder, pools):
    made = Agent(folder, "n1", "-server", "-bootstrap-expect", "1").start()
    yield made
    # Jobs of failed tests are stopped before those of zcsi, because their end needs the plugin.
    for job in sorted(api("jobs"), key=lambda found: found["ID"].startswith("zcsi-")):
        job_stop(job["ID"])
    made.stop()


@pytest.fixture(scope="session")
def controllers(certificates):
    """A function that runs the job of the controller with this number of controllers."""
    def run_them(count):
        job_run(ROOT / "jobs/controller.nomad.hcl", "-detach", certificates=certificates,
                program=BUILD / "zcsi-controller", count=count)
    return run_them


@pytest.fixture(scope="session")
def zcsi(agent, controllers, pools, certificates):
    """The dataset that holds the volumes, once both jobs run, their plugin is healthy, and volumes
    can be created."""
    dataset = f"{pools.create('zcsi-nomad', POOL_MB)}/zcsi"
    job_run(ROOT / "jobs/node.nomad.hcl", "-detach", datacenters='["n1"]', dataset=dataset,
            certificates=certificates, data_dir=agent.data, program=BUILD / "zcsi-node")
    controllers(1)
    until(lambda: healthy("Nodes", 1) and healthy("Controllers", 1), "the plugin is healthy")
    accepted(volume_create, "first")  # succeeds once the controller has the agent's service
    volume_delete("first")
    return dataset


@pytest.fixture(scope="module")
def second(folder, pools, certificates, zcsi):
    """The client n2: its agent, its node id, and the dataset of its volumes in a second pool."""
    dataset = f"{pools.create('zcsi-nomad-2', SECOND_POOL_MB)}/zcsi"
    agent = Agent(folder, "n2", "-servers", f"{ADDRESSES['n1']}:4647").start()
    job_run(ROOT / "jobs/node.nomad.hcl", "-detach", job="zcsi-node-2", datacenters='["n2"]',
            dataset=dataset, certificates=certificates, data_dir=agent.data,
            program=BUILD / "zcsi-node")
    until(lambda: healthy("Nodes", 2), "both clients are healthy")
    accepted(volume_create, "first", node="n2")
    volume_delete("first")
    id = next(node["ID"] for node in api("nodes") if node["Name"] == "n2")
    yield SimpleNamespace(agent=agent, id=id, dataset=dataset)
    job_stop("zcsi-node-2")
    agent.stop()
    accepted(volume_create, "after")  # succeeds once the controller has dropped n2
    volume_delete("after")


@pytest.fixture
def create(zcsi):
    """A function like volume_create() whose volumes are deleted when the test ends."""
    def make(id, *args, **kwargs):
        made.append(id)
        return volume_create(id, *args, **kwargs)
    made = []
    yield make
    for each in reversed(made):
        if volume(each):
            volume_delete(each)


@pytest.fixture
def consumer(create):
    """A function that starts a Consumer, which is stopped when the test ends."""
    def make(*args, **kwargs):
        made.append(Consumer(*args, **kwargs))
        return made[-1]
    made = []
    yield make
    for each in made:
        each.stop()
