# SPDX-License-Identifier: MPL-2.0
"""SIGTERM finishes the calls in flight, a second SIGTERM does not wait, SIGHUP reads the pool and
--agents-file again."""
import os
import signal

import grpc
import pytest

from client import refused
from daemon import wait_for
from host import run, Volume


def test_sigterm_finishes_the_call_that_runs(gated, gate):
    gate.hold("/data ")
    call = Volume(gated, "data").start_create()
    gate.arrived()
    for daemon in (gated.controller_daemon, gated.node_daemon):
        daemon.signal(signal.SIGTERM)
        wait_for(lambda: not daemon.socket.exists(), "it stops to listen")
    assert gated.node_daemon.running() and gated.controller_daemon.running()
    gate.open()
    assert call.result().volume.volume_id == "data"
    for daemon in (gated.controller_daemon, gated.node_daemon):
        assert daemon.wait() == 0
        daemon.close()


def test_sigterm_finishes_many_calls(host):
    calls = [Volume(host, f"v{n}").start_create() for n in range(30)]
    wait_for(lambda: any("zfs create " in argv for argv in host.node_daemon.runs()),
             "the first create has run")
    host.controller_daemon.signal(signal.SIGTERM)
    codes = {call.code() for call in calls}
    assert codes <= {grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE}
    assert host.controller_daemon.wait() == 0
    done = sum(call.code() == grpc.StatusCode.OK for call in calls)
    assert done > 0 and len(host.leaves()) >= done


def is_late(daemon):
    return any(line["msg"] == "calls are still running" for line in daemon.log())


def test_sigterm_finishes_a_change_that_takes_long(gated, gate):
    gate.hold("/data ")
    call = Volume(gated, "data").start_create()
    gate.arrived()
    gated.node_daemon.signal(signal.SIGTERM)
    wait_for(lambda: is_late(gated.node_daemon), "it gives up readings")
    gate.open()
    assert call.result().volume.volume_id == "data"
    assert gated.node_daemon.wait() == 0


def test_sigterm_does_not_wait_for_a_reading_of_the_pool(gated, gate):
    gate.hold(" get -rHp ")
    gated.node_daemon.signal(signal.SIGHUP)
    gate.arrived()
    gated.node_daemon.signal(signal.SIGTERM)
    assert gated.node_daemon.wait() == 0


def test_sigterm_does_not_wait_for_the_reading_of_a_call(gated, gate):
    """SIGTERM ends the lookup in ZFS by which a deletion checks that a volume unknown to the
    catalog does not exist."""
    gate.hold(f"{gated.dataset('gone')} ")
    call = gated.agent.DestroyDataset.future(id="gone")
    gate.arrived()
    gated.node_daemon.signal(signal.SIGTERM)
    assert gated.node_daemon.wait() == 0
    with refused(grpc.StatusCode.UNAVAILABLE, naming="stopping"):
        call.result()


@pytest.mark.parametrize("which", ["node_daemon", "controller_daemon"])
def test_a_second_sigterm_does_not_wait(gated, gate, which):
    gate.hold("/data ")
    call = Volume(gated, "data").start_create()
    gate.arrived()
    daemon = getattr(gated, which)
    daemon.signal(signal.SIGTERM)
    wait_for(lambda: not daemon.socket.exists(), "it stops to listen")
    assert daemon.running()
    daemon.signal(signal.SIGTERM)
    assert daemon.wait() != 0
    assert call.code() != grpc.StatusCode.OK


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_idle_daemons_leave_at_once(host, number):
    for daemon in (host.controller_daemon, host.node_daemon):
        daemon.signal(number)
        assert daemon.wait() == 0
        assert not daemon.socket.exists()
    assert not os.path.exists(host.agent_socket)


def test_mounts_outlive_the_daemon(host, volume):
    volume.up()
    before = host.mounts()
    host.node_daemon.stop()
    assert host.mounts() == before
    host.start_node()
    volume.publish()
    volume.down().delete()


def test_sighup_rescans(new_host):
    """The timer triggers no scan during the test, so only SIGHUP does, or an event of OpenZFS."""
    host = new_host(node_args=["--rescan", "3600"]).start()
    run("zfs", "create", "-o", "canmount=noauto", "-o", "refquota=9M", "-o", "zcsi:version=1",
        "-o", "zcsi:volume=made", host.dataset("made"))
    host.node_daemon.signal(signal.SIGHUP)
    wait_for(lambda: host.ids() == ["made"], "the new dataset is seen")
