# SPDX-License-Identifier: MPL-2.0
"""200 concurrent calls on 20 volumes: all are queued, none is rejected, and the contents of the
pool agree with the responses afterwards."""
import os
import random

import grpc
import pytest

from client import refused, size_of
from crash.state import names
from host import get, SIZE, Volume

CODE = grpc.StatusCode
LARGEST = 8  # the largest size to expand to, in units of SIZE
OK = {"OK"}
OR_GONE = {"OK", "NOT_FOUND"}
OR_TOO_EARLY = {"OK", "FAILED_PRECONDITION"}


def expand(volume, choice):
    return volume.host.controller.ControllerExpandVolume.future(
        volume_id=volume.id, capacity_range=size_of(SIZE * choice.randint(1, LARGEST)))


def attach(volume, _):
    return volume.host.controller.ControllerPublishVolume.future(
        volume_id=volume.id, node_id="n1", volume_capability=volume.capability)


def snapshot(volume, _):
    return volume.host.controller.CreateSnapshot.future(
        source_volume_id=volume.id, name=f"snap-{volume.id}")


def clone(volume, _):
    """Clone the volume with the largest size that the source may have when the call runs."""
    return Volume(volume.host, f"clone-{volume.id}", size=LARGEST * SIZE).start_create(
        volume_content_source={"volume": {"volume_id": volume.id}})


def restore(volume, _):
    return Volume(volume.host, f"restored-{volume.id}").start_create(
        volume_content_source={"snapshot": {"snapshot_id": f"{volume.id}@snap-{volume.id}"}})


def stage(volume, _):
    return volume.host.node.NodeStageVolume.future(
        volume_id=volume.id, staging_target_path=volume.staging,
        volume_capability=volume.capability)


def publish(volume, _):
    return volume.host.node.NodePublishVolume.future(
        volume_id=volume.id, staging_target_path=volume.staging, target_path=volume.target,
        volume_capability=volume.capability)


def create(volume, _):
    return volume.start_create()


def delete(volume, _):
    return volume.start_delete()


def list_volumes(volume, _):
    return volume.host.controller.ListVolumes.future()


def list_snapshots(volume, _):
    return volume.host.controller.ListSnapshots.future()


# Kinds of volumes, five of each: the calls on a volume and the codes they may return in any order.
# Together the calls leave one possible state.
KINDS = {
    "grown": {create: OK, expand: OK, attach: OK, list_volumes: OK},
    "copied": {snapshot: OK, clone: OK, restore: OR_GONE, list_snapshots: OK},
    "deleted": {delete: OK, expand: OR_GONE, snapshot: OR_GONE, clone: OR_GONE},
    "mounted": {stage: OK, publish: OR_TOO_EARLY, expand: OK},
}


class Sent:
    """A call in flight, with the codes it may return."""

    def __init__(self, volume, make, allowed, choice):
        self.volume, self.make, self.allowed = volume, make, allowed
        self.future = make(volume, choice)

    @property
    def code(self):
        return self.future.code().name

    def is_ok(self, *makes):
        return self.make in makes and self.code == "OK"


@pytest.fixture
def choice():
    """A random generator; its seed is printed."""
    seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
    print(f"SEED={seed}")
    return random.Random(seed)


def made_volumes(host):
    volumes = [Volume(host, f"{kind}-{n}") for kind in KINDS for n in range(5)]
    for call in [volume.start_create() for volume in volumes]:
        call.result()
    return volumes


def calls_of(volume):
    return KINDS[volume.id.split("-")[0]]


def send(volumes, choice):
    """Start ten calls for each volume, in a random order, without waiting for any."""
    turns = choice.sample(volumes * 10, len(volumes) * 10)
    return [Sent(volume, make, calls_of(volume)[make], choice)
            for volume in turns for make in [choice.choice(list(calls_of(volume)))]]


def check_codes(sent):
    for call in sent:
        assert call.code in call.allowed, \
            f"{call.make.__name__} of {call.volume.id}: {call.code} {call.future.details()}"


def answered_volumes(volumes, sent):
    """Return the volumes that exist according to the responses: id -> size."""
    sizes = {volume.id: SIZE for volume in volumes}
    for call in sent:
        if call.is_ok(expand):
            size = call.future.result().capacity_bytes
            sizes[call.volume.id] = max(sizes[call.volume.id], size)
        elif call.is_ok(clone, restore):
            made = call.future.result().volume
            sizes[made.volume_id] = made.capacity_bytes
    for call in sent:
        if call.is_ok(delete):
            sizes.pop(call.volume.id, None)
    return sizes


def check_volumes(host, sizes):
    volumes = [name for name in names(host.parent) if "@" not in name and name[0] != "_"]
    assert volumes == host.ids() == sorted(sizes)
    for name, size in sizes.items():
        assert get(host.dataset(name), "refquota") == str(size), name


def check_snapshots(host, sent):
    taken = {call.future.result().snapshot.snapshot_id for call in sent if call.is_ok(snapshot)}
    listed = {entry.snapshot.snapshot_id for entry in host.controller.ListSnapshots().entries}
    held = {name.split("@")[1] for name in names(host.parent) if "@" in name and "@_" not in name}
    assert taken == listed
    assert held == {name.split("@")[1] for name in taken}


def check_mounts(host, sent):
    points = sorted({point for point, _ in host.mounts()})
    assert points == sorted({call.volume.staging for call in sent if call.is_ok(stage)}
                            | {call.volume.target for call in sent if call.is_ok(publish)})
    assert len(points) == len(host.mounts())
    for call in sent:
        if call.is_ok(attach):
            assert [row.node_id for row in call.volume.record().published] == ["n1"]


def check_end(host, volumes, sent):
    check_codes(sent)
    check_volumes(host, answered_volumes(volumes, sent))
    check_snapshots(host, sent)
    check_mounts(host, sent)


def test_mixed_calls_all_end_with_an_allowed_code(host, choice):
    volumes = made_volumes(host)
    check_end(host, volumes, send(volumes, choice))


def test_only_a_call_past_its_deadline_is_aborted(gated, gate, choice):
    volumes, slow = made_volumes(gated), Volume(gated, "slow")
    slow.create()
    gate.hold("/slow ")
    running = gated.agent.ResizeDataset.future(id="slow", size=2 * SIZE)
    gate.arrived()
    sent = send(volumes, choice)
    with refused(CODE.ABORTED, CODE.DEADLINE_EXCEEDED):
        gated.agent.ResizeDataset(id="slow", size=3 * SIZE, timeout=1)
    check_codes(sent)
    assert not running.done()
    gate.open()
    assert running.result().dataset.size == slow.record().size == 2 * SIZE
    slow.delete()
    check_end(gated, volumes, sent)
