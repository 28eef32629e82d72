# SPDX-License-Identifier: MPL-2.0
"""A controller with the agents of two hosts."""
import grpc
import pytest

from client import refused, topology
from daemon import wait_for
from host import SIZE, Volume

CODE = grpc.StatusCode


@pytest.fixture
def pair(new_host):
    """Hosts a and b. The controller of a knows both agents, and both hosts use it."""
    b = new_host(node_id="b")
    a = new_host(node_id="a", agents=[f"unix://{b.agent_socket}"])
    b.start_node()
    b.controller = a.start().controller
    return a, b


def on(host, name, **fields):
    made = Volume(host, name).create(accessibility_requirements=topology(host.node_id), **fields)
    return [dict(t.segments) for t in made.volume.accessible_topology]


def test_a_volume_is_made_where_the_topology_says(pair):
    for host in pair:
        assert on(host, f"on-{host.node_id}") == [{"zcsi.zfs/node": host.node_id}]
        assert host.leaves() == [f"on-{host.node_id}"]


def test_parameters_pin_a_volume(pair):
    for host in pair:
        pool = host.parent.split("/", maxsplit=1)[0]
        made = Volume(pair[0], host.node_id).create(
            parameters={"node": host.node_id, "pool": pool})
        assert made.volume.accessible_topology[0].segments["zcsi.zfs/node"] == host.node_id
        for wrong in {"node": "c"}, {"pool": "other"}:
            with refused(CODE.RESOURCE_EXHAUSTED, naming=tuple(wrong.values())):
                Volume(pair[0], "nowhere").create(parameters=wrong)
            assert pair[0].controller.GetCapacity(parameters=wrong).available_capacity == 0
        assert pair[0].controller.GetCapacity(parameters={"node": "a"}).available_capacity > 0


def test_the_first_preferred_one_that_fits_is_taken(pair):
    a, b = pair
    wanted = topology("b", "a")
    made = Volume(a, "data").create(accessibility_requirements=wanted)
    assert dict(made.volume.accessible_topology[0].segments) == {"zcsi.zfs/node": "b"}
    assert (a.leaves(), b.leaves()) == ([], ["data"])


def test_a_name_is_one_volume_on_all_hosts(pair):
    a, b = pair
    on(b, "data")
    assert Volume(a, "data").create().volume.accessible_topology[0].segments["zcsi.zfs/node"] == "b"
    with refused(CODE.ALREADY_EXISTS, naming="data"):
        on(a, "data")
    calls = [Volume(a, f"v{n}").start_create() for n in range(10) for _ in range(2)]
    assert {call.code() for call in calls} == {CODE.OK}
    assert sorted(a.leaves() + b.leaves()) == ["data", *(f"v{n}" for n in range(10))]


def test_the_list_is_one_list_in_pages(pair):
    a, b = pair
    for n in range(9):
        on(pair[n % 2], f"v{n}")
    assert a.ids() == [f"v{n}" for n in range(9)]
    for size in (1, 2, 4, 9, 100):
        pages, token = [], ""
        while not pages or token:
            answer = a.controller.ListVolumes(max_entries=size, starting_token=token)
            assert 0 < len(answer.entries) <= size
            pages += [entry.volume.volume_id for entry in answer.entries]
            token = answer.next_token
        assert pages == a.ids()


def test_a_token_outlives_the_volume_it_names(pair):
    a, b = pair
    for name in ("v1", "v2", "v3"):
        on(b, name)
    token = a.controller.ListVolumes(max_entries=2).next_token
    Volume(a, "v2").delete()
    rest = a.controller.ListVolumes(starting_token=token)
    assert [entry.volume.volume_id for entry in rest.entries] == ["v3"]


def test_a_silent_agent_is_named_and_no_second_copy_is_made(pair):
    a, b = pair
    on(b, "data")
    b.node_daemon.kill()
    for call in (Volume(a, "data").create, Volume(a, "new").create, a.controller.ListVolumes,
                 Volume(a, "data").delete, Volume(a, "elsewhere").delete):
        with refused(CODE.UNAVAILABLE, naming=b.agent_socket):
            call()
    assert a.leaves() == []
    b.restart(b.node_daemon)
    b.controller = a.controller
    wait_for(lambda: Volume(a, "data").start_create().code() == CODE.OK, "the agent is back")
    assert a.leaves() == []


def test_a_volume_is_published_on_its_own_host_only(pair):
    a, b = pair
    on(b, "data")
    volume = Volume(a, "data")
    with refused(CODE.INVALID_ARGUMENT, naming=("data", "b")):
        volume.attach(node_id="a")
    Volume(b, "data").attach()
    assert Volume(b, "data").record().published[0].node_id == "b"


def test_every_step_finds_the_owner(pair):
    a, b = pair
    on(b, "data")
    volume = Volume(b, "data").up()
    assert volume.expand(2 * SIZE).capacity_bytes == 2 * SIZE
    volume.down().delete()
    assert b.leaves() == []


def test_capacity_is_that_of_the_topology(pair):
    a, b = pair
    total = a.controller.GetCapacity().available_capacity
    one = a.controller.GetCapacity(
        accessible_topology={"segments": {"zcsi.zfs/node": "a"}}).available_capacity
    assert 0 < one <= total


def test_two_controllers_make_one_volume(new_host, pair):
    a, b = pair
    other = new_host(node_id="a")
    argv = a.controller_daemon.argv
    other.controller_daemon.argv[3:] = argv[3:]
    other.start_controller()
    calls = [Volume(host, "data").start_create() for host in (a, other) for _ in range(5)]
    assert {call.code() for call in calls} == {CODE.OK}
    assert len(a.leaves() + b.leaves()) == 1
