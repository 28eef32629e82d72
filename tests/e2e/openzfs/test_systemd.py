# SPDX-License-Identifier: MPL-2.0
"""The units of jobs/systemd, run by systemd after `make install`, with the files that
jobs/README.md puts into /etc/zcsi."""
import contextlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from client import ROOT
from daemon import BUILD, wait_for
from host import run, Volume
from processes import status
from systemd import Systemd, Unit
from test_delegation import remedies

UNITS = "/usr/local/lib/systemd/system"
ETC = Path("/etc/zcsi")
LATE = "10.77.9.1"
AGENT = "tcp://127.0.0.1:9740"
BOTH = {"ZCSI_LOG_FORMAT": "json", "ZCSI_LOG_LEVEL": "debug"}
NODE = {"ZCSI_AGENT_ENDPOINT": f"unix:///run/zcsi/agent.sock {AGENT}",
        "ZCSI_TLS_CA": ETC / "ca.pem", "ZCSI_TLS_CERT": ETC / "node.example.pem",
        "ZCSI_TLS_KEY": ETC / "node.example.key",
        "ZCSI_ALLOW": "zcsi.v1.Agent=controller.example"}


def configure(name, **variables):
    Path(ETC, f"{name}.env").write_text(
        "".join(f"{key}={value}\n" for key, value in {**BOTH, **variables}.items()))


def configure_controller(certificates):
    """Create /etc/zcsi with all that the controller's unit needs, and the node's certificate."""
    shutil.copytree(certificates, ETC)
    for kind in ("pem", "key"):
        Path(ETC, f"controller.example.{kind}").rename(ETC / f"controller.{kind}")
    configure("controller", ZCSI_AGENT=AGENT)


@pytest.fixture(scope="module")
def systemd(namespaces, certificates):
    """systemd with both units installed. Uses the fixture namespaces, which makes mounts below /tmp
    visible inside and outside."""
    run("make", "--assume-old=all", "install", f"BUILD={BUILD}", cwd=ROOT)
    configure_controller(certificates)
    with contextlib.closing(Systemd()) as made:
        yield made


@pytest.fixture
def host(systemd, new_host):
    made = new_host()
    made.node_daemon = Unit(systemd, "zcsi-node", "/run/zcsi/node.sock")
    made.controller_daemon = Unit(systemd, "zcsi-controller", "/run/zcsi-controller/csi.sock")
    made.agent_socket = made.node_daemon.socket.with_name("agent.sock")
    configure("node", ZCSI_DATASET=made.parent, ZCSI_NODE_ID=made.node_id, **NODE)
    return made.start()


def test_systemd_verifies_both_units(systemd):
    done = subprocess.run([*systemd.prefix, "systemd-analyze", "verify", "--man=no",
                           *(f"{UNITS}/zcsi-{name}.service" for name in ("node", "controller"))],
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def locks(host):
    """Return name -> inode of the lock files of parent datasets. A lock on a new file of the same
    name would be another lock."""
    found = {path.name: path.stat().st_ino
             for path in host.node_daemon.socket.parent.glob("*.lock")}
    assert found
    return found


def test_a_volume_stays_mounted_when_the_unit_restarts(host):
    volume = Volume(host, "data").up()
    before, locked = host.mounts(), locks(host)
    assert [point for point, _ in before] == [volume.staging, volume.target]
    with open(Path(volume.target, "file"), "w", encoding="ascii") as file:
        host.node_daemon.systemctl("restart")
        host.restart(host.node_daemon)
        file.write("kept")
    assert host.mounts() == before and locks(host) == locked
    assert Path(volume.staging, "file").read_text() == "kept"
    volume.expand(2 * volume.size)
    volume.down().delete()
    assert host.mounts() == []


def test_a_killed_unit_is_started_again(host):
    volume = Volume(host, "data").up()
    for unit in (host.node_daemon, host.controller_daemon):
        before = unit.pid()
        unit.kill()
        wait_for(lambda: unit.pid() not in (0, before), f"another {unit.name}")
        host.restart(unit)
    volume.down().delete()


def test_a_unit_without_its_configuration_is_not_started(host):
    unit = host.node_daemon
    unit.stop()
    (ETC / "node.env").unlink()
    unit.systemctl("start")
    assert not unit.running()
    assert unit.systemd.show(unit.name, "ConditionResult") == "no"
    assert unit.systemd.show(unit.name, "NRestarts") == "0"


def test_stopped_units_exit_with_success(host):
    for unit in (host.controller_daemon, host.node_daemon):
        unit.stop()
        assert not unit.running()


def test_the_controller_is_a_dynamic_user_without_capabilities(systemd, host):
    proc, pid = systemd.root / "proc", host.controller_daemon.pid()
    is_now = status(pid, proc)
    assert all(int(number) > 0 for number in is_now["Uid"].split() + is_now["Gid"].split())
    assert [int(is_now[name], 16) for name in ("CapPrm", "CapEff", "CapInh", "CapBnd")] == [0] * 4
    [files] = re.findall("^Max open files +([0-9]+) ", (proc / f"{pid}/limits").read_text(), re.M)
    assert int(files) > 10000  # a connection to each agent takes a descriptor


def test_a_reload_scans_the_pool_as_another_user(host, by_hand):
    """Only root may run `zpool events`, so changes by others are found by the next scan."""
    for command in remedies(host):
        run(*command.split())
    configure("node", ZCSI_DATASET=host.parent, ZCSI_NODE_ID=host.node_id, ZCSI_RESCAN=86400,
              ZCSI_ZFS_USER="nobody", **NODE)
    host.node_daemon.systemctl("restart")
    host.restart(host.node_daemon)
    Volume(host, "data").up().down().delete()
    by_hand("made", {"refquota": "9M", "zcsi:version": "1", "zcsi:volume": "made"})
    assert host.ids() == []
    host.node_daemon.systemctl("reload")
    wait_for(lambda: host.ids() == ["made"], "the new dataset is seen")


def test_a_unit_starts_once_its_address_exists(host):
    unit = host.node_daemon
    configure("node", CSI_ENDPOINT=f"unix:///run/zcsi/node.sock tcp://{LATE}:9741", **NODE)
    with pytest.raises(AssertionError, match="Job for zcsi-node.service failed"):
        unit.systemctl("restart")
    wait_for(lambda: int(unit.systemd.show(unit.name, "NRestarts")) > 5, "it goes on trying")
    run("ip", "address", "add", f"{LATE}/32", "dev", "lo")
    wait_for(unit.running, "it has started")
    run("ip", "address", "delete", f"{LATE}/32", "dev", "lo")
