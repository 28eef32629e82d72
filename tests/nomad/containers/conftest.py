# SPDX-License-Identifier: MPL-2.0
"""Fixtures of tests with both daemons in containers that Nomad's docker driver runs. podman serves
Docker's API, since it needs no daemon. `make image` runs these tests after it has made the image.
"""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from client import ROOT
from daemon import accepts, wait_for
from nomad import (
    Agent, accepted, api, healthy, job_run, job_stop, until, volume_create, volume_delete)

HERE = Path(__file__).parent
# The host's folders that a container of zcsi-node mounts.
FOLDERS = re.findall(r'^ +"(/[^":$]*):', (ROOT / "jobs/node.nomad.hcl").read_text(), re.MULTILINE)


@pytest.fixture(scope="session")
def docker(folder):
    """Docker's API. Hosts that are containers themselves need runc and cgroups that podman makes
    without systemd."""
    configuration = folder / "containers.conf"
    configuration.write_text('[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\n'
                             'events_logger = "file"\n')
    made = [path for path in map(Path, FOLDERS) if not path.exists()]
    for path in made:
        path.mkdir()
    with open(folder / "podman.log", "ab") as log:
        served = subprocess.Popen(
            ["podman", "system", "service", "--time", "0", "unix:///run/podman.sock"],
            env={**os.environ, "CONTAINERS_CONF": str(configuration)}, stdout=log, stderr=log)
    wait_for(lambda: accepts("/run/podman.sock"), "podman answers")
    yield
    served.terminate()
    served.wait()
    for path in made:
        shutil.rmtree(path)  # lock files stay in /run/zcsi


@pytest.fixture(scope="session")
def agent(folder, pools, docker):
    made = Agent(folder, "n1", "-server", "-bootstrap-expect", "1",
                 "-config", HERE / "docker.hcl").start()
    yield made
    for job in sorted(api("jobs"), key=lambda found: found["ID"].startswith("zcsi-")):
        job_stop(job["ID"])
    made.stop()


@pytest.fixture(scope="session")
def zcsi(agent, pools, certificates):
    """The dataset of the volumes, once both jobs run and volumes can be created."""
    dataset = f"{pools.create('zcsi-docker', 256)}/zcsi"
    job_run(ROOT / "jobs/node.nomad.hcl", "-detach", driver="docker", datacenters='["n1"]',
            dataset=dataset, certificates=certificates, data_dir=agent.data)
    job_run(ROOT / "jobs/controller.nomad.hcl", "-detach", driver="docker", count=1,
            certificates=certificates)
    until(lambda: healthy("Nodes", 1) and healthy("Controllers", 1), "the plugin is healthy")
    accepted(volume_create, "first")
    volume_delete("first")
    return dataset
