# SPDX-License-Identifier: MPL-2.0
"""One Nomad for the session, on it the jobs of jobs/ as they are, over a real pool. What is missing
is an error, never a skip. All of it runs in a place of its own (tests/nomad/alone), which ends with
it."""
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

collect_ignore = [] if "OPENZFS" in os.environ else ["openzfs"]
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
    """In it the tasks' devices are mounted: what is on another filesystem is not removed."""
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
    run(ROOT / "jobs/local/certs", folder / "certs", "controller.zcsi",
        *map(",".join, ADDRESSES.items()))
    return folder / "certs"


@pytest.fixture(scope="session")
def agent(folder, pools):
    made = Agent(folder, "n1", "-server", "-bootstrap-expect", "1").start()
    yield made
    # what a failed test has left comes first, for it needs the plugin
    for job in sorted(api("jobs"), key=lambda found: found["ID"].startswith("zcsi-")):
        job_stop(job["ID"])
    made.stop()


@pytest.fixture(scope="session")
def controllers(certificates):
    """controllers(count): the job with that many."""
    def run_them(count):
        job_run(ROOT / "jobs/controller.nomad.hcl", "-detach", certificates=certificates,
                program=BUILD / "zcsi-controller", count=count)
    return run_them


@pytest.fixture(scope="session")
def zcsi(agent, controllers, pools, certificates):
    """Both jobs run, and their plugin is healthy: the dataset below which the volumes are."""
    dataset = f"{pools.create('zcsi-nomad', POOL_MB)}/zcsi"
    job_run(ROOT / "jobs/node.nomad.hcl", "-detach", datacenters='["n1"]', dataset=dataset,
            certificates=certificates, data_dir=agent.data, program=BUILD / "zcsi-node")
    controllers(1)
    until(lambda: healthy("Nodes", 1) and healthy("Controllers", 1), "the plugin is healthy")
    return dataset


@pytest.fixture(scope="module")
def second(folder, pools, certificates, zcsi):
    """The client n2: its agent, its id, the dataset of its volumes in a pool of its own."""
    dataset = f"{pools.create('zcsi-nomad-2', SECOND_POOL_MB)}/zcsi"
    agent = Agent(folder, "n2", "-servers", f"{ADDRESSES['n1']}:4647").start()
    job_run(ROOT / "jobs/node.nomad.hcl", "-detach", job="zcsi-node-2", datacenters='["n2"]',
            dataset=dataset, certificates=certificates, data_dir=agent.data,
            program=BUILD / "zcsi-node")
    until(lambda: healthy("Nodes", 2), "both clients are healthy")
    id = next(node["ID"] for node in api("nodes") if node["Name"] == "n2")
    yield SimpleNamespace(agent=agent, id=id, dataset=dataset)
    job_stop("zcsi-node-2")
    agent.stop()
    accepted(volume_create, "after")  # the controller has forgotten n2
    volume_delete("after")


@pytest.fixture
def create(zcsi):
    """create(id, mode..., parameters=, field=): as volume_create, and deleted with the test."""
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
    """consumer(job, volume, ...): a Consumer, that is stopped with the test."""
    def make(*args, **kwargs):
        made.append(Consumer(*args, **kwargs))
        return made[-1]
    made = []
    yield make
    for each in made:
        each.stop()
