# SPDX-License-Identifier: MPL-2.0
"""A pool that zcsi-node reaches only by ssh: the same ZFS behind an sshd of the test. NFS exports
over ssh are tested in openzfs/test_over_ssh_nfs.py."""
import contextlib
import os
import signal
import subprocess

import grpc
import pytest

from client import MIB, refused
from daemon import BUILD, Daemon, wait_for
from host import get, Volume
from processes import children
from sshd import Sshd
from test_cli import zcsi
from units import sandbox

CODE = grpc.StatusCode
SERVER = "root@127.0.0.1"
OVER_SSH = ("--zfs-over-ssh", SERVER, "--rescan", "1")
HOSTILE = "it's \"$HOME\" $(touch /tmp/zcsi-hostile) `id`; \\ ! * ~ ü -rf"


class OnServer(Volume):
    """A volume with attach=nfs, which an agent over ssh needs. The test creates it at the agent,
    because the controller creates none on a server with zfs-fuse, which exports no volumes."""

    def asked(self, fields):
        return {"id": self.id, "size": self.size, "parameters": "attach=nfs\n", **fields}

    def create(self, **fields):
        return self.host.agent.CreateDataset(**self.asked(fields))

    def start_create(self, **fields):
        return self.host.agent.CreateDataset.future(**self.asked(fields))


@pytest.fixture
def sshd(tmp_path, gate):
    """An sshd whose sessions run zfs through the gate."""
    with contextlib.ExitStack() as stack:
        server = Sshd(tmp_path, path=gate.env["PATH"])
        stack.callback(server.kill)
        yield server.start()


@pytest.fixture
def host(sshd, new_host):
    return new_host(node_args=OVER_SSH, env=sshd.env).start()


def test_a_volume_over_ssh_lives_a_whole_life(host):
    volume = OnServer(host, "data")
    volume.create()
    snapshot = host.controller.CreateSnapshot(source_volume_id=volume.id, name="s").snapshot
    copy = OnServer(host, "copy")
    copy.create(source_snapshot=snapshot.snapshot_id)
    volume.expand(2 * volume.size)
    assert get(host.dataset("data"), "mountpoint") == f"/run/zcsi-nfs/{host.dataset('data')}"
    assert get(host.dataset("data"), "refquota") == str(2 * volume.size)
    assert host.ids() == ["copy", "data"]
    copy.delete()
    host.controller.DeleteSnapshot(snapshot_id=snapshot.snapshot_id)
    volume.delete()
    assert host.leaves() == []
    assert all(argv.startswith("ssh ") for argv in host.node_daemon.runs())


def test_a_renamed_volume_is_exported_by_its_new_name(host):
    OnServer(host, "data").create()
    zcsi(host, "rename", "data", "new")
    assert get(host.dataset("new"), "mountpoint") == f"/run/zcsi-nfs/{host.dataset('new')}"
    assert get(host.dataset("new"), "zcsi:volume") == "new" and host.ids() == ["new"]


def test_names_and_values_arrive_as_they_are(host):
    volume = OnServer(host, HOSTILE)
    volume.create(properties=[{"name": "com.example:note", "value": HOSTILE}])
    assert host.ids() == [HOSTILE]
    [leaf] = host.leaves()
    assert get(host.dataset(leaf), "com.example:note") == HOSTILE
    assert not os.path.exists("/tmp/zcsi-hostile")
    volume.delete()
    assert host.leaves() == []


def test_many_calls_share_one_connection(host, sshd):
    for number in range(4):
        OnServer(host, f"data-{number}").create()
    assert len(host.node_daemon.runs()) > 6
    assert sshd.count("Accepted publickey") == 1


def test_another_host_key_is_refused_and_named(host, sshd):
    volume = OnServer(host, "data")
    sshd.kill()
    sshd.new_host_key()
    sshd.start()
    host.node_daemon.signal(1)
    wait_for(lambda: "Host key verification failed" in host.agent.GetHost().problem,
             "it is seen")
    with refused(CODE.UNAVAILABLE, naming=(SERVER, "Host key verification failed", "known_hosts")):
        volume.create()
    sshd.trust()
    wait_for(lambda: not host.agent.GetHost().problem, "it is trusted")
    volume.create()


def test_a_refused_client_key_is_reported(sshd, new_host):
    sshd.make_key("client_key")
    (sshd.folder / "client_key.pub").write_text("")
    host = new_host(node_args=OVER_SSH, env=sshd.env)
    host.node_daemon.start()
    agent = host.node_daemon.client(f"unix:{host.agent_socket}")
    wait_for(lambda: "authorized_keys" in agent.GetHost().problem, "it is said")


def test_after_a_lost_connection_the_state_is_unknown(host, sshd, gate):
    """A zfs that was started over ssh keeps running after the connection is lost. Until it has
    ended, the pool's state is unknown and calls are refused."""
    volume = OnServer(host, "data")
    gate.hold(" create ")
    call = volume.start_create()
    gate.arrived()
    sshd.kill()
    assert call.code() is CODE.UNAVAILABLE
    assert SERVER in call.details() and "is not known" in call.details()
    wait_for(lambda: "Connection refused" in host.agent.GetHost().problem, "it is asked again")
    assert "is not known" in host.agent.GetHost().problem
    sshd.start()
    wait_for(lambda: "has not ended" in host.agent.GetHost().problem, "it is waited for")
    with refused(CODE.UNAVAILABLE, naming="has not ended"):
        volume.create()
    gate.open()
    wait_for(lambda: not host.agent.GetHost().problem, "it has ended")
    assert host.ids() == host.leaves() == ["data"]
    volume.create()


def test_a_server_that_does_not_answer_delays_no_other_call(host, sshd, gate):
    """After a lost connection, a command waits until ssh has asked the server what still runs.
    Calls that need no zfs, and the loop, do not wait for that ssh."""
    gate.hold(" create ")
    call = OnServer(host, "data").start_create()
    gate.arrived()
    sshd.kill()
    assert call.code() is CODE.UNAVAILABLE
    sshd.start().process.send_signal(signal.SIGSTOP)

    def answers_meanwhile():
        """True if an ssh ran before and after the calls. One that fails at once may be seen too."""
        before = children(host.node_daemon.process.pid)
        host.agent.GetHost()
        host.node.Probe()
        return set(before) & set(children(host.node_daemon.process.pid))

    wait_for(answers_meanwhile, "calls are answered while an ssh waits for sshd")
    sshd.process.send_signal(signal.SIGCONT)
    gate.open()
    wait_for(lambda: not host.agent.GetHost().problem, "the state is known again")


def test_a_zfs_left_by_a_killed_daemon_is_waited_for(host, gate):
    gate.hold(" create ")
    call = OnServer(host, "data").start_create()
    gate.arrived()
    host.node_daemon.kill()
    assert call.code() is CODE.UNAVAILABLE
    host.node_daemon.close()
    host.node_daemon.start()
    agent = host.node_daemon.client(f"unix:{host.agent_socket}")
    wait_for(lambda: "has not ended" in agent.GetHost().problem, "it is waited for")
    gate.open()
    wait_for(lambda: not agent.GetHost().problem, "it has ended")
    assert [row.id for row in agent.ListDatasets().datasets] == ["data"]


def test_a_zfs_killed_on_the_server_is_an_error(host, gate):
    volume = OnServer(host, "data")
    gate.hold(" create ")
    call = volume.start_create()
    gate.arrived()
    gate.kill()
    assert call.code() is CODE.UNAVAILABLE
    assert "'zfs create' was killed by a signal" in call.details()
    gate.open()
    volume.create()


def test_a_volume_over_ssh_is_not_mounted_locally(host):
    volume = OnServer(host, "data")
    volume.create()
    with refused(CODE.INVALID_ARGUMENT, naming=SERVER):
        volume.attach()
    with refused(CODE.FAILED_PRECONDITION, naming=SERVER):
        volume.stage()
    with refused(CODE.RESOURCE_EXHAUSTED, naming="attach=nfs"):
        Volume(host, "local").create()
    with refused(CODE.FAILED_PRECONDITION, naming=SERVER):
        host.agent.CreateDataset(id="device", size=32 * MIB, format="block")
    volume.delete()
    assert host.leaves() == []


def test_the_sandbox_of_its_unit_suffices(sshd, new_host):
    host = new_host(node_args=OVER_SSH, env=sshd.env)
    host.node_daemon.argv[:0] = sandbox("zcsi-node")
    OnServer(host.start(), "data").create()
    assert host.leaves() == ["data"]


def test_check_says_why_a_server_is_not_reached(sshd, host):
    def check():
        done = subprocess.run([BUILD / "zcsi-node", "--check", "--dataset", host.parent, *OVER_SSH],
                              capture_output=True, text=True, env={**os.environ, **sshd.env})
        return [line for line in done.stdout.splitlines() if f"pool of '{host.parent}'" in line]
    assert check() == [f"ok pool of '{host.parent}'"]
    sshd.kill()
    [line] = check()
    assert line.startswith("MISSING") and "Connection refused" in line and "sshd runs" in line
    sshd.start()


@pytest.mark.parametrize("args, words", [
    (("--zfs-over-ssh", "nas"), "is not USER@HOST"),
    (("--zfs-over-ssh", "-oProxyCommand=id@nas"), "is not USER@HOST"),
    (("--zfs-over-ssh", "zcsi@-nas"), "is not USER@HOST"),
    (("--zfs-over-ssh", "zcsi@a b"), "is not USER@HOST"),
    (("--zfs-over-ssh", "zcsi@nas", "--zfs-user", "nobody"), "exclude each other"),
])
def test_invalid_ssh_options_are_refused(tmp_path, args, words):
    daemon = Daemon("zcsi-node", tmp_path, "--dataset", "tank/zcsi", *args).spawn()
    assert daemon.wait() == 1
    assert words in daemon.text()
