# SPDX-License-Identifier: MPL-2.0
"""The data_dir in the node's Nomad job. If it is not the Nomad client's, zcsi-node reports what to
type, at its start and when a folder for a mount is missing."""
import tempfile
from pathlib import Path

import grpc
import pytest

from client import capability, refused
from daemon import Daemon
from host import Volume

PLACE = "csi/plugins/0a1b2c3d-0000-0000-0000-000000000000"


@pytest.fixture
def folder():
    """A folder with a short path, which the address of a unix socket has room for."""
    with tempfile.TemporaryDirectory(prefix="zcsi-") as made:
        yield Path(made)


@pytest.fixture
def node_at(folder):
    """A function that returns a zcsi-node whose endpoint has the path that Nomad gives for a state
    directory in the folder. The daemon is not started yet, and is stopped when the test ends."""
    def make(state, *args):
        place = folder / state / PLACE
        place.mkdir(parents=True)
        daemon = Daemon("zcsi-node", place, "--agent-endpoint", f"unix://{folder}/agent.sock",
                        *args)
        made.append(daemon)
        return daemon
    made = []
    yield make
    for daemon in made:
        if daemon.running():
            daemon.stop()


def ended(daemon):
    daemon.spawn()
    assert daemon.wait() != 0
    text = daemon.text()
    daemon.log_path.unlink()
    return text


def test_the_data_dir_of_another_client_is_refused_at_start(node_at, folder):
    text = ended(node_at("client", "--nomad-data-dir", "/opt/nomad/data"))
    assert (f"the job names data_dir '/opt/nomad/data', which is not that of this client: run its "
            f"job with -var data_dir={folder}\n") in text


def test_an_agent_without_a_data_dir_is_refused_at_start(node_at, folder):
    text = ended(node_at("NomadClient123", "--nomad-data-dir", folder / "NomadClient123"))
    assert f"'{folder}/NomadClient123', which is below no data_dir; start the agent with" in text


@pytest.mark.parametrize("path", ["", "./", "link"])
def test_the_data_dir_of_the_client_is_accepted(node_at, folder, path):
    (folder / "link").symlink_to(folder)
    node_at("client", "--nomad-data-dir", f"{folder}/{path}").start()


def test_an_endpoint_that_shows_no_data_dir_is_accepted(new_host):
    new_host(node_args=["--nomad-data-dir", "/opt/nomad/data"]).start()


def test_a_missing_folder_is_reported_with_the_data_dir(node_at, folder):
    node = node_at("client").start().client()
    with refused(grpc.StatusCode.FAILED_PRECONDITION,
                 naming=("'/opt/nomad/data/staging'", f"run its job with -var data_dir={folder}")):
        node.NodeStageVolume(
            volume_id="data", staging_target_path="/opt/nomad/data/staging",
            publish_context={"attach": "nfs", "server": "127.0.0.1", "share": "/data"},
            volume_capability=capability())


def test_a_missing_folder_is_reported_where_nomad_does_not_run(host):
    volume = Volume(host, "data")
    volume.create()
    volume.attach()
    with refused(grpc.StatusCode.FAILED_PRECONDITION, naming=("/nowhere/staging", "create it")):
        volume.stage(staging_target_path="/nowhere/staging")
