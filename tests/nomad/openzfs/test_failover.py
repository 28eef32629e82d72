# SPDX-License-Identifier: MPL-2.0
"""A client loses its power, with the job of a volume that has a copy on the other client. Nomad
wants the job there, which waits for an operator's word. The times are printed, not judged."""
import contextlib
import os
import signal
import time

import pytest

from host import datasets, get, mounts, run
from nomad import accepted, allocations, api, healthy, nomad, until

LOST = "n2"
GATE = "ControllerUnpublishVolume id=films code=UNAVAILABLE"
WAITS = "ControllerPublishVolume id=films code=FAILED_PRECONDITION"


def client(name):
    return next((node for node in api("nodes") if node["Name"] == name), None)


@contextlib.contextmanager
def ineligible(name):
    """Within the block, Nomad places nothing new on this client."""
    id = client(name)["ID"]
    nomad("node", "eligibility", "-disable", id)
    try:
        yield
    finally:
        nomad("node", "eligibility", "-enable", id)


def whole(second):
    """Wait until both clients have a controller, a zcsi-node and its service."""
    until(lambda: healthy("Controllers", 2) and healthy("Nodes", 2), "both clients are healthy")
    until(lambda: len(api("service/zcsi-agent", [])) == 2, "both agents are registered")


@pytest.fixture
def user(second, controllers, create, consumer, zcsi_command):
    """A job on n2, with a volume whose copy on n1 has all that was written."""
    controllers(2)
    whole(second)
    accepted(create, "films", node=LOST, parameters={"replicas": "2", "sync_every": "1h"})
    with ineligible("n1"):
        made = consumer("user", "films", reschedule=True).started()
    assert made.allocs[0]["NodeName"] == LOST
    made.write("words", "pushed")
    until(lambda: not zcsi_command("sync", "films")[1].returncode, "it is pushed")
    return made


def lose_power(host):
    """Cut the cable of the client, end all its processes at once, and take its mounts away."""
    run("ip", "-n", LOST, "link", "set", LOST, "down")
    host.agent.kill()
    while pids := run("ip", "netns", "pids", LOST).split():
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    for point, _ in reversed(mounts(f"{host.agent.data}/")):
        run("umount", "-l", point)


def booted(parent):
    """Record another boot, as if the host of these volumes had been booted since."""
    for name in datasets(parent):
        if get(name, "zcsi:owner").startswith("boot="):
            run("zfs", "set", "zcsi:owner=boot=another", name)


def boot(host):
    booted(host.dataset)
    run("ip", "-n", LOST, "link", "set", LOST, "up")
    host.agent.start()


@pytest.fixture
def lose(second):
    """A function by which n2 loses its power. Returns the moment. After the test n2 runs again."""
    def cut():
        moment = time.monotonic()
        lose_power(second)
        return moment
    yield cut
    if second.agent.process.poll() is not None:
        boot(second)
    whole(second)


def is_down():
    found = client(LOST)
    return not found or found["Status"] == "down"


def logged(words):
    """True if the log of the controller on n1 has these words."""
    return any(words in nomad("alloc", "logs", "-stderr", alloc["ID"])
               for alloc in allocations("zcsi-controller") if alloc["NodeName"] == "n1")


def take_over(zcsi_command):
    """Type the commands of the guide. Returns the moment before the last one."""
    assert any("zcsi failover films --lost NODE" in row[1]
               for row in zcsi_command("why", "films")[0])
    rows, done = zcsi_command("failover", "--lost", LOST)
    assert "add --accept-loss" in done.stderr and rows[0][:2] == ["films", "n1"], done
    word = time.monotonic()
    done = zcsi_command("failover", "--lost", LOST, "--accept-loss", "1h")[1]
    assert done.returncode == 0, done
    return word


def served(user, cut, word):
    """Wait until the job has its data on n1, and print how long that took."""
    assert user.started().allocs[0]["NodeName"] == "n1"
    assert user.read("words") == "pushed"
    now = time.monotonic()
    print(f"data is served {now - cut:.0f} s after the power cut, {now - word:.0f} s after "
          "zcsi failover was typed")


def returns(second, user, zcsi):
    """Start the client again. Its volume makes way, and nothing of it is published there."""
    def has(leaf):
        return f"{second.dataset}/{leaf}" in datasets(second.dataset)
    boot(second)
    until(lambda: has("_replica/films") and not has("films"), "n2 has a copy")
    whole(second)
    assert get(f"{second.dataset}/_replica/films", "zcsi:published") == "-"
    assert get(f"{zcsi}/films", "zcsi:published").startswith("n1")
    assert not [point for point, _ in mounts(f"{second.agent.data}/") if "films" in point]
    assert user.started().allocs[0]["NodeName"] == "n1"


def test_a_job_runs_on_the_other_client_after_a_failover(zcsi, second, user, lose, zcsi_command):
    user.write("late", "not pushed")
    cut = lose()
    until(is_down, "Nomad marks the client down")
    until(lambda: logged(GATE), "Nomad asks to detach the volume")
    assert f"{zcsi}/films" not in datasets(zcsi)
    assert not allocations("user")
    served(user, cut, take_over(zcsi_command))
    assert "late" not in user.busybox("ls", "/data")
    returns(second, user, zcsi)
    [row] = zcsi_command("diverged", "list")[0]
    assert row[:4] == ["films", LOST, "films-0", "n1"]
    assert not zcsi_command("diverged", "drop", "films-0", "--destroy", "1")[1].returncode


@pytest.mark.matrix
def test_a_failover_works_after_nomad_forgot_the_client(zcsi, second, user, lose, zcsi_command):
    """Nomad releases the volume then without asking the plugin, which still refuses it. If only an
    access time was written since the push, that is put aside."""
    cut = lose()
    until(is_down, "Nomad marks the client down")
    until(lambda: allocations("user", "lost") == [] and allocations("user", "pending"),
          "the job is placed again")
    nomad("system", "gc")
    until(lambda: not client(LOST), "Nomad has forgotten the client")
    until(lambda: logged(WAITS), "the volume is refused")
    assert f"{zcsi}/films" not in datasets(zcsi)
    served(user, cut, take_over(zcsi_command))
    returns(second, user, zcsi)
    for row in zcsi_command("diverged", "list")[0]:
        assert not zcsi_command("diverged", "drop", row[2], "--destroy", "1")[1].returncode
