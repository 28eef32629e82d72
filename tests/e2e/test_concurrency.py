# SPDX-License-Identifier: MPL-2.0
"""Concurrent calls: those of one volume are serialized, those of different volumes are not."""
import random

import grpc
import pytest

from client import refused, size_of
from daemon import wait_for
from host import after_other_calls, SIZE, Volume

CODE = grpc.StatusCode


def codes(calls):
    return sorted(call.code().name for call in calls)


def test_ten_creates_of_one_name_make_one_dataset(host, volume):
    answers = [call.result() for call in [volume.start_create() for _ in range(10)]]
    assert all(answer == answers[0] for answer in answers)
    assert host.leaves() == ["data"]
    assert sum("zfs create " in run for run in host.node_daemon.runs()) == 1


def test_a_name_in_two_sizes_is_one_volume(host):
    calls = [Volume(host, "data").start_create(capacity_range=size_of(size, size))
             for size in (SIZE, 2 * SIZE) * 3]
    assert codes(calls) == ["ALREADY_EXISTS"] * 3 + ["OK"] * 3
    assert host.leaves() == ["data"]


def test_a_different_size_is_refused_by_the_name_of_the_field(host, volume):
    volume.create()
    with refused(CODE.ALREADY_EXISTS, naming=("data", "capacity_range")):
        Volume(host, "data", size=2 * SIZE).create()


def test_creates_and_deletes_may_come_in_any_order(host):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    kept = {f"kept-{n}" for n in range(10)}
    gone = [f"gone-{n}" for n in range(15)]
    for name in gone:
        Volume(host, name).create()
    work = [Volume(host, name).start_create for name in kept for _ in range(2)]
    work += [Volume(host, name).start_delete for name in gone for _ in range(2)]
    random.Random(seed).shuffle(work)
    assert set(codes([start() for start in work])) == {"OK"}
    assert set(host.leaves()) == set(host.ids()) == kept


def test_a_slow_volume_does_not_hold_another(gated, gate):
    slow = Volume(gated, "slow")
    gate.hold("/slow ")
    calls = [slow.start_create() for _ in range(12)]
    gate.arrived()
    Volume(gated, "quick").up().down().delete()
    assert not any(call.done() for call in calls)
    gate.open()
    assert set(codes(calls)) == {"OK"}
    assert gated.leaves() == ["slow"]


def test_probe_answers_while_many_volumes_are_slow(gated, gate):
    gate.hold(" create ")
    calls = [Volume(gated, f"v{n}").start_create() for n in range(40)]
    gate.arrived()
    assert gated.node.Probe().ready.value
    assert gated.controller.Probe().ready.value
    gate.open()
    assert set(codes(calls)) == {"OK"}


def test_a_deadline_is_kept_and_the_repeat_finds_the_work_done(gated, gate):
    volume = Volume(gated, "data")
    gate.hold("/data ")
    call = gated.agent.CreateDataset.future(id="data", size=SIZE, timeout=1)
    assert call.code() in (CODE.DEADLINE_EXCEEDED, CODE.ABORTED)
    repeat = volume.start_create()
    gate.arrived()  # the zfs of the first call; on a slow host perhaps that of its repeat
    gate.open()
    assert repeat.result().volume.volume_id == "data"
    assert gated.leaves() == ["data"]


def test_a_call_that_waits_too_long_for_its_volume_is_refused(gated, gate):
    gate.hold("/data ")
    first = Volume(gated, "data").start_create()
    gate.arrived()
    with refused(CODE.ABORTED, CODE.DEADLINE_EXCEEDED):
        gated.agent.DestroyDataset(id="data", timeout=0.2)
    gate.open()
    first.result()


def test_a_publication_that_waits_too_long_for_another_is_refused(new_host, gate):
    """With --max-volumes, publications to a node are counted, so they run one after the other."""
    host = new_host(node_args=("--max-volumes", "9"), env=gate.env).start()
    for name in ("slow", "data"):
        Volume(host, name).create()
    publication = {"node_id": "n1", "access_mode": 1}
    gate.hold("zcsi:published=")
    first = host.agent.PublishDataset.future(id="slow", publication=publication)
    gate.arrived()
    with refused(CODE.ABORTED, CODE.DEADLINE_EXCEEDED):
        host.agent.PublishDataset(id="data", publication=publication, timeout=1)
    assert not after_other_calls(host, "data").published
    assert not first.done()
    gate.open()
    first.result()


@pytest.mark.parametrize("timeout", [0.0001, 0.001, 0.005, 0.02])
def test_tiny_deadlines_converge(host, volume, timeout):
    """If the deadline passes before HEADERS are sent, grpcio 1.51 resets a stream that it never
    opened. This is a connection error (RFC 9113 5.1): other calls on the connection get a
    GOAWAY."""
    for call in [volume.start_create(timeout=timeout) for _ in range(5)]:
        assert (call.code().name in ("OK", "DEADLINE_EXCEEDED", "ABORTED")
                or call.details() in ("GOAWAY received", "Broken pipe")), call.details()
    wait_for(lambda: volume.start_create().code() is CODE.OK, "a connection that stays")
    assert host.leaves() == ["data"]


def test_a_cancelled_create_is_found_by_the_next(gated, gate):
    volume = Volume(gated, "data")
    gate.hold("/data ")
    call = volume.start_create()
    gate.arrived()
    call.cancel()
    gate.open()
    volume.create()
    assert gated.leaves() == ["data"]
