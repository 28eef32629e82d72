# SPDX-License-Identifier: MPL-2.0
"""Three hosts, three pools, two controllers and a network between them, on which tc delays packets
or drops those of one direction."""
import contextlib

import grpc
import pytest

from client import capability, refused, size_of, topology
from daemon import Daemon, wait_for
from host import run, SIZE

CODE = grpc.StatusCode
NUMBERS = (1, 2, 3)
NAMES = 20
PORT = 9740


def endpoint(host):
    return f"tcp://{host.namespaces.address}:{PORT}"


@pytest.fixture
def hosts(new_member, namespaces):
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(new_member(number, node_args=(
            "--agent-endpoint", f"tcp://{namespaces(number).address}:{PORT}", "--insecure")))
                for number in NUMBERS]
        for host in made:
            host.start_node()
        yield made


@pytest.fixture
def controllers(hosts):
    words = [word for host in hosts for word in ("--agent", endpoint(host))]
    daemons = [Daemon("zcsi-controller", hosts[0].folder, *words, "--insecure", "--roll-call", "1",
                      name=f"controller-{number}").start() for number in range(2)]
    yield [daemon.client() for daemon in daemons]
    for daemon in daemons:
        daemon.stop()


WAYS = ["there", "back"]


def impair(host, way, *how):
    """Impair the packets to the host ("there") or from it ("back")."""
    device = host.namespaces.port if way == "there" else "eth0"
    on = run if way == "there" else host.namespaces.run
    on("tc", "qdisc", "replace", "dev", device, "root", "netem", *how)


def create(controller, name, *nodes):
    wanted = {"accessibility_requirements": topology(*nodes)} if nodes else {}
    return controller.CreateVolume.future(
        name=name, capacity_range=size_of(SIZE), volume_capabilities=[capability()], **wanted)


def place(call):
    return call.result().volume.accessible_topology[0].segments["zcsi.zfs/node"]


def where(hosts):
    return {leaf: host.node_id for host in hosts for leaf in host.leaves()}


def settled(controllers):
    wait_for(lambda: all(controller.ListVolumes.future().code() is CODE.OK
                         for controller in controllers), "all agents answer", 60)


def test_a_name_is_one_volume_of_three_pools(hosts, controllers):
    calls = [(f"v{n}", create(controller, f"v{n}")) for n in range(NAMES)
             for controller in controllers]
    told = {(name, place(call)) for name, call in calls}
    assert dict(told) == where(hosts) and len(told) == NAMES
    assert sum(len(host.leaves()) for host in hosts) == NAMES
    for host in hosts:
        assert place(create(controllers[0], f"on-{host.node_id}", host.node_id)) == host.node_id


def test_all_calls_succeed_over_a_slow_network(hosts, controllers):
    for host in hosts:
        for way in WAYS:
            impair(host, way, "delay", "100ms")
    try:
        for host in hosts:
            assert place(create(controllers[0], host.node_id, host.node_id)) == host.node_id
        assert where(hosts) == {host.node_id: host.node_id for host in hosts}
        for host in hosts:
            controllers[1].DeleteVolume(volume_id=host.node_id)
        assert where(hosts) == {}
    finally:
        for host in hosts:
            for way in WAYS:
                impair(host, way, "delay", "0ms")


@pytest.mark.parametrize("way", WAYS)
def test_packet_loss_in_one_direction_fails_only_calls_for_that_host(hosts, controllers, way):
    near, far = hosts[0], hosts[1]
    assert place(create(controllers[0], "near", near.node_id)) == near.node_id
    impair(far, way, "loss", "100%")
    try:
        for controller in controllers:
            with refused(CODE.UNAVAILABLE, naming=endpoint(far)):
                controller.CreateVolume(
                    name="far", capacity_range=size_of(SIZE), volume_capabilities=[capability()],
                    accessibility_requirements=topology(far.node_id), timeout=4)
            controller.ControllerGetVolume(volume_id="near", timeout=5)
    finally:
        impair(far, way, "delay", "0ms")
    settled(controllers)
    assert {place(create(controller, "far", far.node_id)) for controller in controllers} == \
        {far.node_id}
    assert where(hosts) == {"near": near.node_id, "far": far.node_id}
