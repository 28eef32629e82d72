# SPDX-License-Identifier: MPL-2.0
"""A volume moves to the node where it is published, if that node has a copy. Nomad publishes one
volume of a plugin after the other, and repeats a call that failed with FAILED_PRECONDITION, as
attached() does."""
import contextlib
import time

import grpc
import pytest

from client import PATIENCE, refused
from copies import create, write
from daemon import wait_for
from host import get, Volume
from test_move import content, owners

UNMET = grpc.StatusCode.FAILED_PRECONDITION
WAIT = 2  # seconds that one ControllerPublishVolume waits for a move


def of(pair, host):
    """Return the volume `data` for a workload on this host. Its calls of a controller go to the
    controller of the first host, which alone knows both agents."""
    volume = Volume(host, "data")
    volume.controller = pair.owner.controller
    return volume


def attach(volume):
    answer = volume.controller.ControllerPublishVolume(
        volume_id="data", node_id=volume.host.node_id, volume_capability=volume.capability)
    volume.context = dict(answer.publish_context)


def attached(volume):
    """Attach as Nomad does. Returns the error messages of the calls that had to be repeated."""
    said = []

    def attempt():
        begun = time.monotonic()
        try:
            attach(volume)
            return True
        except grpc.RpcError as error:
            assert error.code() is UNMET, error.details()
            assert time.monotonic() - begun < (WAIT + 1) * PATIENCE
            said.append(error.details())
            return False
    wait_for(attempt, "the volume is attached", seconds=60)
    return said


def up(volume):
    """Attach, stage and publish. Returns the error messages of calls that had to be repeated."""
    said = attached(volume)
    volume.stage()
    volume.publish()
    return said


def down(volume):
    volume.unpublish()
    volume.unstage()
    volume.controller.ControllerUnpublishVolume(volume_id="data", node_id=volume.host.node_id)


def filled(pair):
    """Create a volume with a copy, and write to it. Returns the volume, published on n1, and its
    content."""
    create(Volume(pair.owner, "data"), {"replicas": "2"})
    volume = of(pair, pair.owner)
    assert not up(volume)
    write(volume, "one")
    return volume, content(volume)


def topologies(pair):
    [entry] = pair.owner.controller.ListVolumes().entries
    return [topology.segments["zcsi.zfs/node"] for topology in entry.volume.accessible_topology]


def test_a_volume_follows_its_workload_there_and_back(pair):
    here, wanted = filled(pair)
    assert topologies(pair) == ["n1", "n2"]
    there = of(pair, pair.other)
    with refused(UNMET, naming="attached to node 'n1'"):
        attach(there)
    assert owners(pair) == ["n1"]
    down(here)
    up(there)
    assert owners(pair) == ["n2"] and topologies(pair) == ["n2", "n1"]
    assert content(there) == wanted
    write(there, "two")
    wanted = content(there)
    with refused(UNMET, naming="attached to node 'n2'"):
        attach(here)
    # A repeat of the CreateVolume that created the volume on n1 finds it on n2.
    create(Volume(pair.owner, "data"), {"replicas": "2"})
    down(there)
    here = of(pair, pair.owner)
    up(here)
    assert owners(pair) == ["n1"] and content(here) == wanted
    assert get(pair.owner.dataset("data"), "zcsi:epoch") == "2"
    down(here)
    wait_for(pair.settled, "no push runs")


@pytest.fixture
def servers(pair, new_server):
    """The NFS servers of the two hosts, by node."""
    with contextlib.ExitStack() as stack:
        made = {host.node_id: new_server(number).start()
                for number, host in enumerate(pair.hosts, 1)}
        for server in made.values():
            stack.callback(server.stop)
            stack.callback(server.clear)
        yield made


def test_a_volume_by_nfs_stays_with_its_owner_and_moves_while_it_is_not_used(pair, servers):
    """Each host in turn has the volume, and the other one mounts it, although it has a copy."""
    create(Volume(pair.owner, "data"), {"replicas": "2", "attach": "nfs"})
    wanted = {}
    for owner, other in (pair.hosts, reversed(pair.hosts)):
        volume = of(pair, other)
        up(volume)
        assert volume.context["server"] == owner.namespaces.address
        assert content(volume) == wanted
        write(volume, f"on {other.node_id}")
        wanted = content(volume)
        move = ("move", "data", other.node_id)
        assert f"attached to node '{other.node_id}'" in pair.zcsi(*move, status=1)
        assert owners(pair) == [owner.node_id]
        down(volume)
        wait_for(lambda: not pair.run(*move).returncode, "the volume has moved")
        assert owners(pair) == [other.node_id] and servers[owner.node_id].exports() == {}
        assert "_replica/data" in owner.leaves()
    back = of(pair, pair.owner)
    up(back)
    assert back.context["attach"] == "local" and content(back) == wanted
    down(back)


def unmet(volume):
    """Attach, which has to fail with FAILED_PRECONDITION. Returns the error message."""
    with refused(UNMET) as seen:
        attach(volume)
    return seen.text


def test_calls_while_a_volume_moves_find_the_one_move(new_pair, gate):
    """Calls to attach fail while the volume is sent, and while no node has it, but start no second
    move. The first call begins the move and may fail before zfs send runs."""
    with new_pair(owner_env=gate.env) as pair:
        here, wanted = filled(pair)
        pair.sync()
        down(here)
        there = of(pair, pair.other)
        for program in (" send ", "rename "):
            gate.hold(program)
            wait_for(lambda: "is moving to node 'n2'" in unmet(there), "it is moving")
            gate.arrived()
            calls = [there.controller.ControllerPublishVolume.future(
                volume_id="data", node_id="n2", volume_capability=there.capability)
                for _ in range(2)]
            assert all(call.code() is UNMET and "moving to node 'n2'" in call.details()
                       for call in calls), [call.details() for call in calls]
            gate.open()
        up(there)
        assert content(there) == wanted
        marks = [argv for argv in pair.owner.node_daemon.runs() if "-o zcsi:moving=" in argv]
        assert len(marks) == 1
        down(there)
        wait_for(pair.settled, "no push runs")


def test_reasons_against_following_are_reported(pair):
    """Three reasons why a volume does not follow: its parameter `follow`, a target node that is
    down, and an owner that is down."""
    here, wanted = filled(pair)
    pair.sync()
    down(here)
    there = of(pair, pair.other)
    modify = pair.owner.controller.ControllerModifyVolume
    modify(volume_id="data", mutable_parameters={"follow": "no"})
    assert topologies(pair) == ["n1"]
    with refused(grpc.StatusCode.INVALID_ARGUMENT, naming="its data is local"):
        attach(there)
    modify(volume_id="data", mutable_parameters={"follow": "members"})
    assert topologies(pair) == ["n1", "n2"]

    pair.other.node_daemon.kill()
    wait_for(lambda: "did not move to node 'n2'" in (said := unmet(there)) or
             "the move before failed" in said, "the move has failed")
    wait_for(lambda: not pair.owner.agent.GetDatasetMove(id="data").move.running, "it has ended")
    assert [dataset.id for dataset in pair.owner.agent.ListDatasets().datasets] == ["data"]
    pair.other.restart(pair.other.node_daemon)

    pair.owner.node_daemon.kill()
    wait_for(lambda: silent(there), "the owner is seen as silent")
    pair.owner.restart(pair.owner.node_daemon)
    up(there)
    assert owners(pair) == ["n2"] and content(there) == wanted
    down(there)


def silent(volume):
    """Attach, and return whether the error says to repeat the call until zcsi-node of n1 is back.
    It does not say so if the other node has not reported its copy in time."""
    with refused(UNMET, grpc.StatusCode.UNAVAILABLE) as seen:
        attach(volume)
    return seen.code is UNMET and "start zcsi-node on 'n1'" in seen.text
