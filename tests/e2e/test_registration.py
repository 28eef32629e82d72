# SPDX-License-Identifier: MPL-2.0
"""zcsi-node and kubelet: a program that does what kubelet does with the sockets in its folder
plugins_registry, and a zcsi-node that tells it of its CSI socket."""
import os
from pathlib import Path

import grpc
import pytest

from client import Client, refused
from daemon import accepts, Daemon, wait_for
from test_start import ends

CODE = grpc.StatusCode
NAME = "zcsi.sock"


class Kubelet:
    """The plugins that kubelet knows, by the names of their sockets in a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.plugins = {}

    def look(self):
        """Forget the plugins whose sockets are gone, and register those of new sockets."""
        seen = [name for name in os.listdir(self.folder) if not name.startswith(".")]
        self.plugins = {name: self.plugins.get(name) or self.register(self.folder / name)
                        for name in seen}
        return self.plugins

    def register(self, socket):
        told = Client(f"unix:{socket}")
        info = told.GetInfo()
        assert info.type == "CSIPlugin" and info.supported_versions[0].startswith("1.")
        driver = Client(f"unix:{info.endpoint}")
        assert driver.GetPluginInfo().name == info.name
        node = driver.NodeGetInfo().node_id
        told.NotifyRegistrationStatus(plugin_registered=True)
        told.close()
        driver.close()
        return info.name, node


@pytest.fixture
def kubelet(tmp_path):
    folder = tmp_path / "plugins_registry"
    folder.mkdir()
    return Kubelet(folder)


@pytest.fixture
def node(tmp_path, kubelet):
    daemon = Daemon("zcsi-node", tmp_path, "--node-id", "n1", "--cache", "", "--agent-endpoint",
                    f"unix://{tmp_path}/agent.sock", "--registration",
                    f"unix://{kubelet.folder}/{NAME}")
    yield daemon
    if daemon.running():
        daemon.kill()


def test_a_node_is_registered_while_it_runs(kubelet, node):
    assert kubelet.look() == {}
    for _ in range(2):
        node.start()
        assert kubelet.look() == {NAME: ("zcsi.zfs", "n1")}
        wait_for(lambda: "kubelet has registered this node" in node.text(), "it is logged")
        node.stop()
        assert kubelet.look() == {}


def test_the_socket_of_a_node_that_was_killed_is_replaced(kubelet, node):
    node.start().kill()
    assert not accepts(kubelet.folder / NAME)
    node.start()
    assert kubelet.look() == {NAME: ("zcsi.zfs", "n1")}
    node.stop()


def test_the_error_of_kubelet_is_logged(kubelet, node):
    node.start()
    told = node.client(f"unix:{kubelet.folder}/{NAME}")
    told.NotifyRegistrationStatus(plugin_registered=False, error="no such driver")
    wait_for(lambda: "no such driver" in node.text(), "it is logged")
    node.stop()


def test_only_the_registration_is_served_there(kubelet, node):
    node.start()
    told = node.client(f"unix:{kubelet.folder}/{NAME}")
    for call in (told.Probe, told.NodeGetInfo, told.GetHost):
        with refused(CODE.UNIMPLEMENTED):
            call()
    node.stop()


@pytest.mark.parametrize("registration, endpoint", [
    ("tcp://127.0.0.1:1", "unix://{}/csi.sock"), ("unix://{}/reg.sock", "tcp://127.0.0.1:0")])
def test_both_must_be_unix_sockets(tmp_path, registration, endpoint):
    daemon = Daemon("zcsi-node", tmp_path, "--registration", registration.format(tmp_path))
    daemon.argv[daemon.argv.index("--endpoint") + 1] = endpoint.format(tmp_path)
    status, text = ends(daemon)
    assert status not in (0, None) and "--registration needs a unix socket" in text
    assert not Path(tmp_path, "reg.sock").exists()
