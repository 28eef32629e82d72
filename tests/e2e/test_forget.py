# SPDX-License-Identifier: MPL-2.0
"""`zcsi forget`: a host that never comes back, and the names that it had."""
import grpc
import pytest

from client import refused, topology
from daemon import wait_for
from host import run, Volume
from test_cli import rows, zcsi
from test_why import target

CODE = grpc.StatusCode


@pytest.fixture
def pair(new_host):
    """Two hosts and a controller. The second one has a volume `data`, whose name the first keeps,
    and is lost; its agent is not on the controller's list any more."""
    far = new_host(node_id="n2").start()
    near = new_host(agents=[target(far)], controller_args=("--roll-call", "1")).start()
    Volume(near, "data").create(accessibility_requirements=topology("n2"))
    names = set(far.agent.ListNames().hashes)

    def known():
        kept = near.agent.GetKeptNames.future(node_id="n2")
        return not kept.exception() and names <= set(kept.result().hashes)

    wait_for(known, "n1 keeps the names of n2")
    return near, far


def lose(near, far):
    """End the zcsi-node of a host, and take its agent from the controller's list."""
    far.node_daemon.kill()
    near.controller_daemon.kill()
    words = near.controller_daemon.argv
    at = words.index(target(far))
    del words[at - 1:at + 1]
    near.restart(near.controller_daemon)


def forgotten(host):
    return [(each.node_id, each.forgotten) for each in host.agent.ListKnownHosts().hosts
            if each.node_id == "n2"]


def test_the_names_of_a_forgotten_host_can_be_made_again(pair):
    near, far = pair
    lose(near, far)
    volume = Volume(near, "data")
    with refused(CODE.UNAVAILABLE, naming="'n2'"):
        volume.create()
    said = zcsi(near, "forget", "n2", status=3)
    assert "run 'zcsi forget n2 --gone'" in said
    assert "names of volumes, snapshots and groups" in zcsi(near, "forget", "n2", "--dry-run")
    assert forgotten(near) == [("n2", False)]
    near.controller_daemon.kill()
    zcsi(near, "forget", "n2", "--gone")
    assert forgotten(near) == [("n2", True)]
    with refused(CODE.NOT_FOUND):
        near.agent.GetKeptNames(node_id="n2")
    near.restart(near.controller_daemon)
    volume.create()
    assert near.ids() == ["data"]
    assert "was forgotten before" in zcsi(near, "forget", "n2", "--gone", status=1)


def test_a_controller_that_runs_forgets_too(pair):
    near, far = pair
    lose(near, far)
    volume = Volume(near, "data")
    with refused(CODE.UNAVAILABLE, naming="'n2'"):
        volume.create()
    zcsi(near, "forget", "n2", "--gone")

    def made():
        call = volume.start_create()
        assert call.code() in (CODE.OK, CODE.UNAVAILABLE), call.details()
        return call.code() == CODE.OK

    wait_for(made, "the controller has read that n2 is forgotten")


@pytest.mark.parametrize("known", [True, False])
def test_a_host_that_answers_is_not_forgotten(pair, known):
    """Also if its agent is none of those that are asked."""
    near, far = pair
    agents = [target(far)] if known else []
    said = zcsi(near, "forget", "n2", "--gone", agents=agents, status=1)
    assert "node 'n2' answers" in said and forgotten(near) == [("n2", False)]


def test_an_agent_on_the_list_that_is_down_can_be_forgotten(pair):
    near, far = pair
    far.node_daemon.kill()
    assert zcsi(near, "forget", "n2", "--gone", agents=[target(far)]) != ""
    assert forgotten(near) == [("n2", True)]


def test_volumes_attached_to_the_host_are_printed(pair):
    near, far = pair
    Volume(near, "own").create(accessibility_requirements=topology("n1"))
    run("zfs", "set", "zcsi:published=n2:5:rw:127.0.0.2", near.dataset("own"))
    near.read_again()
    far.node_daemon.kill()
    printed = rows(zcsi(near, "forget", "n2", "--dry-run", "-H"))
    assert ["own", "it is attached to the node", "zcsi unpublish own n2 --force"] in printed
    zcsi(near, *printed[-1][2].split()[1:])
    assert len(rows(zcsi(near, "forget", "n2", "--dry-run", "-H"))) == len(printed) - 1


def test_an_unknown_host_is_not_forgotten(host):
    assert "has node 'n9' on its list" in zcsi(host, "forget", "n9", "--gone", status=1)
