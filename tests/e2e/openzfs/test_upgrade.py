# SPDX-License-Identifier: MPL-2.0
"""A host is upgraded while a volume is in use: from `make install` of version 0.1.0 to the packages
of this tree, and to newer ones. tests/deb/upgrade builds both and runs this file."""
import contextlib
from pathlib import Path

import pytest

from client import ROOT
from daemon import BUILD
from host import run, Volume
from systemd import Systemd, Unit
from test_systemd import NODE, configure, configure_controller

PACKAGES = BUILD / "deb/upgrade"
NAMES = ("zcsi-node", "zcsi-controller")


@pytest.fixture(scope="module")
def systemd(namespaces, certificates):
    """systemd with the units of 0.1.0, as make install put them."""
    run("tar", "-xf", PACKAGES / "earlier.tar", "-C", "/")
    configure_controller(certificates)
    with contextlib.closing(Systemd()) as made:
        yield made


@pytest.fixture
def host(systemd, new_host):
    """Both units of 0.1.0, started. Its agent does not answer all that Host.start asks."""
    made = new_host()
    made.node_daemon = Unit(systemd, "zcsi-node", "/run/zcsi/node.sock")
    made.controller_daemon = Unit(systemd, "zcsi-controller", "/run/zcsi-controller/csi.sock")
    made.agent_socket = made.node_daemon.socket.with_name("agent.sock")
    configure_node(made)
    made.node = made.node_daemon.start().client()
    made.start_controller()
    made.wait_for_agent()
    return made


def configure_node(host):
    configure("node", ZCSI_DATASET=host.parent, ZCSI_NODE_ID=host.node_id, **NODE)


def install(systemd, name):
    """Install both packages of this version, and return what dpkg said."""
    return systemd.run("dpkg", "--install", *(PACKAGES / f"{each}-{name}.deb" for each in NAMES))


def programs(host):
    """Return the paths of the programs that the units run."""
    proc = host.node_daemon.systemd.root / "proc"
    return [str(Path(f"{proc}/{unit.pid()}/exe").readlink())
            for unit in (host.node_daemon, host.controller_daemon)]


def connect(host):
    for daemon in (host.node_daemon, host.controller_daemon):
        host.restart(daemon)


def test_a_volume_stays_in_use_during_an_upgrade(systemd, host):
    volume = Volume(host, "data").up()
    mounted = host.mounts()
    assert programs(host) == [f"/usr/local/sbin/{name}" for name in NAMES]
    with open(Path(volume.target, "file"), "w", encoding="ascii") as file:
        def still_used(text):
            file.write(text)
            file.flush()
            assert host.mounts() == mounted
            assert Path(volume.staging, "file").read_text().endswith(text)

        # The units of make install are preferred, and the package says so.
        said = install(systemd, "this")
        assert all(f"/usr/local/lib/systemd/system/{name}.service is in the way" in said
                   for name in NAMES)
        run("make", "uninstall", cwd=ROOT)
        systemd.run("systemctl", "daemon-reload")
        systemd.run("systemctl", "restart", *NAMES)
        connect(host)
        assert programs(host) == [f"/usr/sbin/{name}" for name in NAMES]
        still_used("packaged")

        # dpkg alone restarts the units with the newer programs.
        before = host.node_daemon.pid(), host.controller_daemon.pid()
        install(systemd, "next")
        after = host.node_daemon.pid(), host.controller_daemon.pid()
        assert 0 not in after and not set(before) & set(after)
        connect(host)
        still_used("upgraded")
        volume.expand(2 * volume.size)

        systemd.run("dpkg", "--remove", *NAMES)
        assert not host.node_daemon.running() and not host.controller_daemon.running()
        still_used("removed")
        systemd.run("dpkg", "--purge", *NAMES)
        assert not Path("/etc/zcsi/node.env").exists() and Path("/etc/zcsi/ca.pem").exists()
        still_used("purged")

    install(systemd, "next")
    assert not host.node_daemon.running()
    configure_node(host)
    configure("controller", ZCSI_AGENT="tcp://127.0.0.1:9740")
    host.node_daemon.systemctl("start")
    host.controller_daemon.systemctl("start")
    connect(host)
    volume.down().delete()
    assert host.mounts() == []
