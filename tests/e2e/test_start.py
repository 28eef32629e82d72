# SPDX-License-Identifier: MPL-2.0
"""A node answers before and without ZFS, reports what is missing, and recovers once it exists."""
import contextlib
import fcntl
import mmap
import os
import select
import shutil
import signal
import socket
import subprocess

import grpc
import pytest

from client import PATIENCE, refused
from daemon import accepts, BUILD, Daemon, wait_for
from host import run, Volume
from processes import status

CODE = grpc.StatusCode


@pytest.fixture
def start(new_host):
    """A function that starts a zcsi-node with this --dataset, which may not exist, and returns its
    host."""
    def make(dataset, env=None):
        made = new_host(node_args=("--rescan", "1"), env=env)
        made.node_daemon.argv[made.node_daemon.argv.index("--dataset") + 1] = dataset
        made.node_daemon.start()
        made.node = made.node_daemon.client()
        made.agent = made.node_daemon.client(f"unix:{made.agent_socket}")
        made.start_controller()
        return made
    return make


def answers_without_zfs(host):
    assert host.node.Probe().ready.value and host.controller.Probe().ready.value
    assert host.node.NodeGetInfo().node_id == "n1"
    assert host.node.NodeGetCapabilities().capabilities
    assert host.agent.GetHost().node_id == "n1"


def calls_that_need_the_pool(host):
    volume = Volume(host, "data")
    return {"create": volume.create, "delete": volume.delete, "attach": volume.attach,
            "stage": volume.stage, "expand": lambda: volume.expand(1 << 20),
            "get": lambda: host.agent.GetDataset(id="data"), "list": host.agent.ListDatasets}


def says_what_is_missing(host, *words):
    for name, call in calls_that_need_the_pool(host).items():
        with refused(CODE.UNAVAILABLE, naming=words) as refusal:
            call()
        print(f"{name}: {refusal.text}")
    assert all(word in host.agent.GetHost().problem for word in words)
    complaints = [line for line in host.node_daemon.log() if line["level"] in ("warn", "error")]
    assert any(words[0] in str(line) for line in complaints)


def comes_to_life(host):
    wait_for(lambda: not host.agent.GetHost().problem, "the node sees its pool")
    Volume(host, "data").up().down().delete()


def test_a_missing_pool_is_waited_for(start, pools):
    host = start(f"e2elate{os.getpid()}/zcsi")
    answers_without_zfs(host)
    says_what_is_missing(host, f"e2elate{os.getpid()}")
    pools.create(f"e2elate{os.getpid()}", megabytes=128)
    comes_to_life(host)


def test_a_missing_parent_is_waited_for(start, pool):
    host = start(f"{pool}/later")
    answers_without_zfs(host)
    says_what_is_missing(host, f"{pool}/later")
    run("zfs", "create", f"{pool}/later")
    comes_to_life(host)
    run("zfs", "destroy", f"{pool}/later")


def test_a_missing_zfs_is_named(start, pool):
    host = start(f"{pool}/any", env={"PATH": "/nonexistent"})
    answers_without_zfs(host)
    says_what_is_missing(host, "zfs")


def test_a_zfs_that_prints_something_else_without_end_is_stopped(start, pool, tmp_path):
    """The output is not held until it reaches the limit of a reading of a pool, 1 GB."""
    parent = f"{pool}/endless"
    run("zfs", "create", "-o", "mountpoint=none", parent)
    script = tmp_path / "zfs"
    script.write_text('#!/bin/sh\ncase " $* " in *" -rHp "*) exec yes ;; esac\n'
                      f'exec {shutil.which("zfs")} "$@"\n')
    script.chmod(0o755)
    host = start(parent, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    wait_for(lambda: f"something else than '{parent}\t' first" in host.agent.GetHost().problem,
             "the reading is refused")
    peak = status(host.node_daemon.process.pid)["VmHWM"]
    assert int(peak.split()[0]) < 100_000, peak
    script.unlink()
    comes_to_life(host)
    host.node_daemon.kill()
    run("zfs", "destroy", "-r", parent)


def test_a_destroyed_parent_is_not_an_empty_parent(start, pool):
    host = start(f"{pool}/passing")
    run("zfs", "create", f"{pool}/passing")
    comes_to_life(host)
    run("zfs", "destroy", f"{pool}/passing")
    wait_for(lambda: host.agent.GetHost().problem, "the node misses its parent")
    with refused(CODE.UNAVAILABLE, naming="passing"):
        Volume(host, "data").delete()
    run("zfs", "create", f"{pool}/passing")
    host.node_daemon.signal(signal.SIGHUP)
    comes_to_life(host)
    run("zfs", "destroy", f"{pool}/passing")


def test_a_node_without_a_dataset_has_no_volumes(new_host):
    plain = new_host()
    at = plain.node_daemon.argv.index("--dataset")
    del plain.node_daemon.argv[at:at + 2]
    plain.node_daemon.start()
    agent = plain.node_daemon.client(f"unix:{plain.agent_socket}")
    assert (agent.GetHost().node_id, agent.GetHost().dataset) == ("n1", "")


def test_volumes_are_served_while_the_pool_is_read_for_the_first_time(gated, gate):
    data, other = Volume(gated, "data").up(), Volume(gated, "other")
    gated.controller_daemon.stop()
    gated.node_daemon.stop()
    gate.hold(" get -rHp ")
    gated.node_daemon.start()
    gated.node = gated.node_daemon.client()
    gated.agent = gated.node_daemon.client(f"unix:{gated.agent_socket}")
    gated.start_controller()
    gate.arrived()
    snapshots = gated.agent.ListDatasetSnapshots.future()
    data.stage()
    data.down().delete()
    other.up().expand(2 * other.size)
    assert other.record().size == 2 * other.size
    with refused(CODE.NOT_FOUND):
        data.record()
    assert not snapshots.done() and not gated.agent.GetHost().names
    gate.open()
    assert not snapshots.result().snapshots
    wait_for(lambda: gated.agent.GetHost().names, "the whole pool is read")
    assert gated.ids() == ["other"]
    other.down().delete()


def test_two_nodes_never_work_on_one_dataset(start, host):
    second = start(host.parent)
    wait_for(lambda: "another zcsi-node" in second.agent.GetHost().problem, "it waits")
    answers_without_zfs(second)
    host.node_daemon.stop()
    comes_to_life(second)


@contextlib.contextmanager
def unread_pipe(path):
    """Make a pipe of two pages at the path. Yield a function that returns true if the pipe is full,
    as poll(2) has it: no page is empty."""
    os.mkfifo(path)
    reader = os.open(path, os.O_RDWR)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 2 * mmap.PAGESIZE)
    try:
        yield lambda: not select.select([], [reader], [], 0)[1]
    finally:
        os.close(reader)


def ends(daemon):
    daemon.spawn()
    status = daemon.wait()
    return status, daemon.text()


@pytest.mark.parametrize("program", ["zcsi-node", "zcsi-controller"])
class TestSockets:
    def test_a_stale_socket_is_replaced(self, program, tmp_path):
        daemon = Daemon(program, tmp_path, *PRIVATE[program](tmp_path)).start()
        daemon.kill()
        assert daemon.socket.exists()
        daemon.start().stop()

    def test_a_live_socket_is_refused_by_name(self, program, tmp_path):
        first = Daemon(program, tmp_path, *PRIVATE[program](tmp_path)).start()
        second = Daemon(program, tmp_path, *PRIVATE[program](tmp_path / "2"))
        status, text = ends(second)
        assert status not in (0, None) and str(first.socket) in text
        assert first.answers()
        first.stop()

    def test_a_file_in_the_place_of_the_socket_is_kept(self, program, tmp_path):
        daemon = Daemon(program, tmp_path, *PRIVATE[program](tmp_path))
        daemon.socket.write_text("mine")
        status, text = ends(daemon)
        assert status not in (0, None) and str(daemon.socket) in text
        assert daemon.socket.read_text() == "mine"

    def test_only_root_may_connect(self, program, tmp_path):
        daemon = Daemon(program, tmp_path, *PRIVATE[program](tmp_path)).start()
        assert daemon.socket.stat().st_mode & 0o777 == 0o600
        daemon.stop()

    def test_no_socket_gets_the_number_of_a_closed_standard_descriptor(self, program, tmp_path):
        closed = ("bash", "-c", 'exec "$@" 0<&- 1>&- 2>&-', "bash")
        daemon = Daemon(program, tmp_path, *PRIVATE[program](tmp_path), prefix=closed).start()
        standard = [os.readlink(f"/proc/{daemon.process.pid}/fd/{fd}") for fd in range(3)]
        assert standard == ["/dev/null"] * 3
        daemon.stop()

    def test_several_endpoints(self, program, tmp_path):
        other = tmp_path / "other.sock"
        daemon = Daemon(program, tmp_path, *PRIVATE[program](tmp_path), "--endpoint",
                        f"unix://{other}", "--endpoint", "tcp://127.0.0.1:0").start()
        assert accepts(other)
        daemon.stop()
        assert not other.exists()

    def test_plaintext_beyond_loopback_needs_insecure(self, program, tmp_path):
        args = (*PRIVATE[program](tmp_path), "--endpoint", "tcp://0.0.0.0:0")
        status, text = ends(Daemon(program, tmp_path, *args))
        assert status not in (0, None) and "--insecure" in text
        Daemon(program, tmp_path, *args, "--insecure").start().stop()

    @pytest.mark.parametrize("args", [
        ("--no-such-option",), ("--log-level", "loud"), ("--log-format", "xml"), ("--endpoint", ""),
        ("--endpoint", "http://x"), ("--endpoint", "tcp://x"), ("stray",), ("--log-level",)])
    def test_a_wrong_option_ends_with_its_name(self, program, tmp_path, args):
        daemon = Daemon(program, tmp_path)
        daemon.argv = [daemon.argv[0], *PRIVATE[program](tmp_path), "--endpoint",
                       f"unix://{daemon.socket}", *args]
        status, text = ends(daemon)
        assert status not in (0, None) and args[-1] in text

    def test_help_and_version(self, program):
        for word, expected in (("--help", "--endpoint"), ("--version", program)):
            assert expected in run(str(BUILD / program), word)

    def test_options_come_from_the_environment(self, program, tmp_path):
        daemon = Daemon(program, tmp_path, *PRIVATE[program](tmp_path))
        daemon.argv = [daemon.argv[0]]
        daemon.env.update(CSI_ENDPOINT=f"unix://{daemon.socket}", ZCSI_LOG_FORMAT="json",
                          ZCSI_AGENT_ENDPOINT=f"unix://{tmp_path}/agent.sock")
        daemon.start().stop()
        assert daemon.log()


PRIVATE = {
    "zcsi-node": lambda folder: ("--agent-endpoint", f"unix://{folder}/agent.sock"),
    "zcsi-controller": lambda folder: ("--agent", f"unix://{folder}/agent.sock"),
}


@pytest.mark.parametrize("program", PRIVATE)
def test_a_log_that_is_not_read_delays_nothing(program, tmp_path):
    daemon = Daemon(program, tmp_path, *PRIVATE[program](tmp_path))
    with unread_pipe(daemon.log_path) as is_full:
        daemon.start()
        client = daemon.client()
        for _ in range(100):
            client.Probe()
        wait_for(is_full, "the pipe is full")
        daemon.stop()


def test_a_node_refuses_a_wrong_topology(tmp_path):
    for word in ("novalue", "=x", "a b=c"):
        daemon = Daemon("zcsi-node", tmp_path, *PRIVATE["zcsi-node"](tmp_path), "--topology", word)
        status, text = ends(daemon)
        assert status not in (0, None) and "topology" in text


@pytest.mark.parametrize("option, highest", [
    ("--rescan", 86400), ("--zfs-timeout", 86400)])
@pytest.mark.parametrize("value", ["0", "-1", "86401", "1s", "1.5", "99999999999999999999"])
def test_a_wrong_number_is_refused_with_its_range(tmp_path, option, highest, value):
    daemon = Daemon("zcsi-node", tmp_path, *PRIVATE["zcsi-node"](tmp_path), f"{option}={value}")
    status, text = ends(daemon)
    assert status not in (0, None)
    assert f"{option} '{value}' is not a whole number from 1 to {highest}" in text


def test_a_malformed_agent_is_refused(tmp_path):
    for agent, why in (("tcp://:1", "names no host"), ("dns:///node", "is not dns:///HOST:PORT")):
        for program in PRIVATE:
            daemon = Daemon(program, tmp_path, *PRIVATE[program](tmp_path), "--agent", agent)
            status, text = ends(daemon)
            assert status not in (0, None) and f"--agent: endpoint '{agent}' {why}" in text


def test_a_node_starts_before_its_agents_file_is_written(tmp_path):
    daemon = Daemon("zcsi-node", tmp_path, *PRIVATE["zcsi-node"](tmp_path), "--agents-file",
                    f"{tmp_path}/none")
    daemon.start().stop()


def test_help_has_at_most_100_columns():
    for program in PRIVATE:
        done = subprocess.run([BUILD / program, "--help"], capture_output=True, text=True)
        assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= 100


@pytest.mark.parametrize("program", PRIVATE)
@pytest.mark.parametrize("name", ["{}/notify", "@{}/notify"], ids=["file", "abstract"])
def test_systemd_is_notified_once_the_daemon_listens(program, name, tmp_path):
    name = name.format(tmp_path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(name.replace("@", "\0"))
        systemd.settimeout(20 * PATIENCE)
        daemon = Daemon(program, tmp_path, *PRIVATE[program](tmp_path),
                        env={"NOTIFY_SOCKET": name}).spawn()
        assert systemd.recv(64) == b"READY=1"
        assert accepts(daemon.socket)
        daemon.stop()
