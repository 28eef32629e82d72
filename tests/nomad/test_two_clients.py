# SPDX-License-Identifier: MPL-2.0
"""A second client with a pool of its own. A job runs where its volume is, and waits for that
client. The client's agents are killed; and one of two controllers is killed during a call."""
import os
import signal
import subprocess
import time
from datetime import datetime
from pathlib import Path

import pytest

from client import PATIENCE
from daemon import BUILD
from host import datasets, get
from nomad import (
    ADDRESSES, PROGRAM, SOON, Refused, accepted, api, blocked, command, drained, healthy, kill,
    nomad, paused, processes, read, spec, told, until, volume, volume_create, volume_delete,
    volumes)


@pytest.fixture
def far(create, second):
    """The id of a volume on n2, created once the controller knows of n2."""
    accepted(create, "far", node="n2")
    return "far"


@pytest.fixture
def user(far, consumer):
    made = consumer("user", far).started()
    assert made.allocs[0]["NodeName"] == "n2"
    made.write("words", "on n2")
    return made


def test_a_volume_is_used_where_it_is(second, user):
    assert volumes(second.dataset) == [f"{second.dataset}/far"]


def test_a_topology_without_a_pool_is_refused(second):
    with pytest.raises(Refused, match="no pool for volume 'lost'.*n3.*the pools are: .*n2"):
        volume_create("lost", node="n3")


def test_a_job_waits_for_the_drained_client_of_its_volume(second, user):
    with drained(second.id, "-ignore-system"):
        until(lambda: blocked("user"), "it is placed nowhere")
        assert "did not meet topology requirement" in " ".join(blocked("user"))
    user.started()
    assert user.allocs[0]["NodeName"] == "n2"
    assert user.read("words") == "on n2"


def agents():
    return [word for name in ("n1", "n2") for word in ("--agent", f"tcp://{ADDRESSES[name]}:9740")]


def operator(certificates):
    return [word for option, file in (("ca", "ca.pem"), ("cert", "operator.zcsi.pem"),
                                      ("key", "operator.zcsi.key"))
            for word in (f"--tls-{option}", certificates / file)]


def test_a_renamed_volume_is_used_under_the_same_id(
        zcsi, second, certificates, create, consumer):
    """The steps are those of jobs/README.md."""
    def rename():
        return command(BUILD / "zcsi", *agents(), *operator(certificates), "rename", "kept",
                       "fresh", "-Hp")
    create("kept", node="n1", capacity_min="16MiB")
    writer = consumer("writer", "kept").started()
    writer.write("words", "kept")
    with pytest.raises(Refused, match="volume 'kept' is not renamed: it is attached to node 'n1'"):
        rename()
    writer.stop()
    until(lambda: get(f"{zcsi}/kept", "zcsi:published") == "-", "the volume is detached")
    assert "nomad volume deregister ID" in rename()
    volume_delete("kept", "deregister")
    create("kept", name="fresh", node="n1", capacity_min="16MiB")
    assert volume("kept")["ExternalID"] == "fresh"
    assert f"{zcsi}/fresh" in datasets(zcsi) and f"{zcsi}/kept" not in datasets(zcsi)
    assert consumer("reader", "kept").started().read("words") == "kept"


def off_the_list(id):
    """True if the volume cannot be deleted because its host is off the list of agents."""
    with pytest.raises(Refused) as refused:
        nomad("volume", "delete", id)
    return "node 'n2', whose agent" in str(refused.value)


def test_a_volume_of_a_drained_client_is_not_deleted(second, far):
    """Without -ignore-system, zcsi-node is drained too, and Nomad withdraws its service."""
    with drained(second.id):
        until(lambda: off_the_list(far), "the controller knows that n2 is off the list")
        accepted(volume_create, "here")
        volume_delete("here")
    accepted(volume_delete, far)
    assert volumes(second.dataset) == []


def seen(node, begin):
    """Return how many seconds after `begin` the client reported zcsi-node as healthy; 0 if it has
    not done so."""
    found = api(f"node/{node}")["CSINodePlugins"].get("zcsi", {})
    if not found.get("Healthy"):
        return 0
    return max(0, datetime.fromisoformat(found["UpdateTime"]).timestamp() - begin)


def test_a_volume_stays_in_use_when_the_nomad_agent_is_killed(second, user, create):
    """A client of Nomad reports a plugin's health to its servers up to 10 seconds after a probe."""
    alloc = user.allocs[0]["ID"]
    second.agent.kill()
    assert user.read("words") == "on n2"
    begin = time.time()
    second.agent.start()
    after = until(lambda: seen(second.id, begin), "it is healthy again")
    assert after < SOON * PATIENCE
    assert user.started().allocs[0]["ID"] == alloc
    assert user.read("words") == "on n2"
    user.stop()
    volume_delete("far")
    assert volumes(second.dataset) == []


def of_node(name):
    """Return the process id of the zcsi-node with this node id."""
    return next(pid for pid in processes("zcsi-node")
                if f"\0--node-id\0{name}\0" in read(Path("/proc", str(pid), "cmdline")))


def test_volumes_of_a_host_that_is_down_are_not_deleted(second, user, create):
    """While a host is silent no volume is created, because that host might have one of the same
    name. When Nomad has withdrawn its service, others are created, and those that it has are not
    deleted. Existing volumes stay in use."""
    create("spare", node="n2")
    second.agent.kill()
    os.kill(of_node("n2"), signal.SIGKILL)
    try:
        with pytest.raises(Refused, match="agent 'tcp://10.74.0.2:9740' did not report"):
            volume_create("lost")
        until(lambda: off_the_list("spare"), "the controller knows that n2 is off the list")
        accepted(volume_create, "here")
        volume_delete("here")
    finally:
        second.agent.start()
    accepted(volume_create, "found")
    volume_delete("found")
    assert user.evaluated().started().read("words") == "on n2"


def callers(controller):
    """Return the number of sockets of a controller's CSI endpoint. It grows with each call of
    Nomad, which opens a connection for each."""
    place = told(controller, "CSI_ENDPOINT").removeprefix("unix://")
    return read(Path("/proc", str(controller), "net/unix")).count(place)


def create_cut_short(id):
    """Start to create a volume and kill the controller that handles the call. Return what kill()
    returns."""
    before = {pid: callers(pid) for pid in processes("zcsi-controller")}
    with paused("zcsi-node"):  # keeps the call in flight until the controller is killed
        asking = subprocess.Popen([PROGRAM, "volume", "create", "-"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        asking.stdin.write(spec(id, capacity_min="16MiB"))
        asking.stdin.close()
        asked = until(lambda: next((pid for pid in before if callers(pid) > before[pid]), None),
                      "Nomad's call reaches a controller")
        settle = kill(asked)
        text = asking.stdout.read()
        assert asking.wait() != 0, text
    return settle


@pytest.mark.parametrize("count", [1, 2])
def test_a_killed_controller_leaves_one_volume(zcsi, second, controllers, create, count):
    controllers(count)
    try:
        until(lambda: healthy("Controllers", count), f"{count} controllers")
        settle = create_cut_short("once")
        accepted(create, "once", capacity_min="16MiB")
        made = [name for parent in (zcsi, second.dataset) for name in volumes(parent)]
        assert [name.rsplit("/", 1)[1] for name in made] == ["once"]
        settle()
    finally:
        controllers(1)
        until(lambda: healthy("Controllers", 1), "one controller")
