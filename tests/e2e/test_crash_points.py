# SPDX-License-Identifier: MPL-2.0
"""kill -9 before and after each zfs process and each mount of every call that changes anything;
restart, repeat the call: the same end state as undisturbed. CASES names every one of them."""
import contextlib
import functools
import re
import signal
import tempfile
from collections import namedtuple

import grpc
import pytest

from client import capability
from crash.points import Points, build_shim, unknown_to
from crash.state import mask, names, state, zfs_runs_on
from daemon import BUILD, wait_for
from host import Host, KERNEL_ZFS, SIZE, Volume

CODE = grpc.StatusCode


# What a call does beyond Volume's own methods. `copy` is the volume that comes of `data`.

def stage(volume):
    """Without making the directory first, as Volume.stage does."""
    return volume.host.node.NodeStageVolume(
        volume_id=volume.id, staging_target_path=volume.staging,
        volume_capability=volume.capability, secrets=volume.secrets)


def stage_again(volume):
    return volume.host.node.NodeStageVolume(
        volume_id=volume.id, staging_target_path=volume.staging + "-b",
        volume_capability=volume.capability)


def expand(volume):
    return volume.expand(2 * SIZE)


def node_expand(volume):
    return volume.host.node.NodeExpandVolume(
        volume_id=volume.id, volume_path=volume.target, capacity_range={"required_bytes": SIZE})


def create_owned(volume):
    return volume.create(parameters={"owner": "1000", "group": "1001", "mode": "0770"})


def create_encrypted(volume):
    volume.secrets = {"encryption_key": "0f" * 32}
    return volume.create(parameters={"zfs.encryption": "on"})


def create_thick(volume):
    return volume.create(parameters={"provisioning": "thick"})


def modify(volume):
    return volume.host.controller.ControllerModifyVolume(
        volume_id=volume.id, mutable_parameters={"zfs.compression": "gzip", "zfs.atime": "off"})


def snapshot(volume):
    return volume.host.controller.CreateSnapshot(source_volume_id=volume.id, name="s")


def delete_snapshot(volume):
    return volume.host.controller.DeleteSnapshot(snapshot_id="data@s")


def restore(volume):
    return Volume(volume.host, "copy").create(
        volume_content_source={"snapshot": {"snapshot_id": "data@s"}})


def clone(volume):
    return Volume(volume.host, "copy").create(
        volume_content_source={"volume": {"volume_id": "data"}})


def delete_copy(volume):
    return Volume(volume.host, "copy").delete()


def group_snapshot(volume):
    return volume.host.controller.CreateVolumeGroupSnapshot(
        name="g", source_volume_ids=[volume.id])


def delete_group_snapshot(volume):
    return volume.host.controller.DeleteVolumeGroupSnapshot(
        group_snapshot_id="g", snapshot_ids=["data@g_g"])


MOUNT = ["mount"] if KERNEL_ZFS else ["zfs set", "zfs mount"]
STAGE = [*MOUNT, "open_tree", "mount_setattr"]
TWO_SETTINGS = ["zfs get", "zfs set"] if KERNEL_ZFS else ["zfs get", "zfs set", "zfs set"]
ATTACH = ["open_tree", "mount_setattr", "move_mount"]
DESTROY = ["zfs get", "zfs destroy"]
DEFER = [*DESTROY, "zfs get", "zfs destroy"]
TRASH = ["zfs rename", "zfs create", "zfs rename"]
TRASHED = ["_trash", "_trash/data-GUID"]

# What came before the call; the call; its operations in order, with those of the reaper that it
# leads to; and what is there at the end. A guid in a name is masked.
Case = namedtuple("Case", "before call operations names node_args", defaults=[()])
CASES = {
    "create": Case([], Volume.create, ["zfs create"], ["data"]),
    "attach": Case([Volume.create], Volume.attach, ["zfs set"], ["data"]),
    "stage": Case([Volume.create], stage, ["mkdir", *STAGE], ["data"]),
    "stage with an owner": Case(
        [create_owned], stage,
        ["mkdir", *STAGE, "open_tree", "mount_setattr", "fchmod", "fchown"],
        ["data"]),
    "stage in a second place": Case(
        [Volume.up], stage_again,
        ["mkdir", "open_tree", "mount_setattr", "mount_setattr", "move_mount"], ["data"]),
    "publish": Case([Volume.create, stage], Volume.publish, ["mkdir", *ATTACH], ["data"]),
    "expand": Case([Volume.create], expand, ["zfs set"], ["data"]),
    "expand a thick one": Case([create_thick], expand, TWO_SETTINGS, ["data"]),
    "expand on the node": Case([Volume.up], node_expand, [], ["data"]),
    "modify": Case([Volume.create], modify, TWO_SETTINGS, ["data"]),
    "unpublish": Case([Volume.up], Volume.unpublish, ["umount2", "rmdir"], ["data"]),
    "unstage": Case([Volume.create, stage], Volume.unstage, ["umount2"], ["data"]),
    "detach": Case([Volume.create, Volume.attach], Volume.detach, ["zfs set"], ["data"]),
    "delete": Case([Volume.create], Volume.delete, DESTROY, []),
    "snapshot": Case([Volume.create], snapshot, ["zfs snapshot"], ["data", "data@s"]),
    "snapshot a group": Case(
        [Volume.create], group_snapshot, ["zfs snapshot"], ["data", "data@g_g"]),
    "restore": Case(
        [Volume.create, snapshot], restore, ["zfs clone"], ["copy", "data", "data@s"]),
    "clone": Case(
        [Volume.create], clone,
        ["zfs snapshot", "zfs clone", "zfs destroy"], ["copy", "data", "data@_clone-copy"]),
    "delete a snapshot": Case(
        [Volume.create, snapshot], delete_snapshot, DESTROY, ["data"]),
    "delete a group": Case(
        [Volume.create, group_snapshot], delete_group_snapshot, DESTROY, ["data"]),
    "delete a snapshot with a clone": Case(
        [Volume.create, snapshot, restore], delete_snapshot, DEFER, ["copy", "data", "data@s"]),
    "delete the clone of a deleted snapshot": Case(
        [Volume.create, snapshot, restore, delete_snapshot], delete_copy, DESTROY, ["data"]),
    "delete a clone": Case([Volume.create, clone], delete_copy, DESTROY, ["data"]),
    "delete what has a snapshot": Case(
        [Volume.create, snapshot], Volume.delete,
        ["zfs get", *TRASH], [*TRASHED, "_trash/data-GUID@s"]),
    "delete what has a clone": Case(
        [Volume.create, clone], Volume.delete,
        ["zfs get", *TRASH], [*TRASHED, "_trash/data-GUID@_clone-copy", "copy"]),
    "delete the last snapshot in the trash": Case(
        [Volume.create, snapshot, Volume.delete], delete_snapshot,
        [*DESTROY, "zfs destroy"], ["_trash"]),
    "delete the last clone in the trash": Case(
        [Volume.create, clone, Volume.delete], delete_copy, [*DESTROY, "zfs destroy"], ["_trash"],
        ["--rescan", "1"]),
    "delete with a time to undo it": Case(
        [Volume.create], Volume.delete,
        ["zfs get", "zfs set", *TRASH], TRASHED, ["--trash-ttl", "3600"]),
    "delete when the time to undo it passes": Case(
        [Volume.create], Volume.delete, ["zfs get", "zfs set", *TRASH, "zfs destroy"], ["_trash"],
        ["--trash-ttl", "1", "--rescan", "1"]),
}

if KERNEL_ZFS:
    CASES |= {
        "create an encrypted one": Case(
            [], create_encrypted, ["zfs create", "zfs get", "zfs unload-key"], ["data"]),
        "stage an encrypted one": Case(
            [create_encrypted], stage,
            ["mkdir", "mount", "zfs get", "zfs load-key", *STAGE], ["data"]),
        "unstage an encrypted one": Case(
            [create_encrypted, stage], Volume.unstage,
            ["umount2", "zfs get", "zfs unload-key"], ["data"]),
    }


@pytest.fixture(scope="module")
def shim():
    with tempfile.TemporaryDirectory(prefix="zcsi-shim-") as folder:
        yield build_shim(folder)


@pytest.fixture(scope="module")
def new_scene(pool, shim):
    """new_scene(case): a volume `data` on a host of its own that is where the call begins."""
    @contextlib.contextmanager
    def make(case):
        with contextlib.closing(Points(shim)) as points, contextlib.closing(
                Host(pool, node_args=case.node_args, env=points.env)) as host:
            volume = Volume(host.start(), "data")
            volume.staging, volume.target = f"{host.folder}/staging", f"{host.folder}/target"
            for step in case.before:
                step(volume)
            yield volume, points
    return make


def mask_answer(volume, answer):
    return mask(re.sub(r"(seconds|nanos): \d+", r"\1: TIME", str(answer)), volume.host.parent)


Run = namedtuple("Run", "points answer state")


@pytest.fixture(scope="module")
def undisturbed(new_scene):
    """undisturbed(call): what the call does when nobody dies; each is learned once."""
    @functools.cache
    def learn(call):
        case = CASES[call]
        with new_scene(case) as (volume, points):
            before = len(points.passed())
            answer = case.call(volume)
            wait_for(lambda: names(volume.host.parent) == case.names
                     and len(points.passed()[before:]) % 2 == 0,
                     f"the names at the end are {case.names}")
            return Run(points.passed()[before:], mask_answer(volume, answer), state(volume.host))
    return learn


@pytest.fixture(scope="module")
def tried(request):
    """The points at which a daemon died; their number is printed at the end."""
    points = []
    yield points
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f" {len(points)} crash points of {len(CASES)} calls", end=" ")


def test_nothing_is_done_by_a_call_that_is_not_watched(shim):
    assert unknown_to(shim, BUILD / "zcsi-node") == set()


@pytest.mark.parametrize("call", CASES)
def test_the_points_are_those_of_the_table(undisturbed, call):
    seen = [point.operation for point in undisturbed(call).points if point.when == "before"]
    assert seen == CASES[call].operations, \
        f"no crash of '{call}' is tested in each of {seen}, which CASES does not have"
    assert len(undisturbed(call).points) == 2 * len(seen)


def dies(volume, case, points, number):
    """The call, and the death at one of its points: the answer may be out before."""
    points.kill_at(number)
    try:
        case.call(volume)
    except grpc.RpcError as error:
        assert error.code() == CODE.UNAVAILABLE, error.details()
    daemon = volume.host.node_daemon
    assert daemon.wait() == -signal.SIGKILL, daemon.text()[-2000:]
    return points.passed()[-1]


def reaches_its_agent(host):
    call = host.controller.ListVolumes.future()
    assert call.code() in (CODE.OK, CODE.UNAVAILABLE), call.details()
    return call.code() == CODE.OK


def restart(host, points):
    wait_for(lambda: not zfs_runs_on(host.parent), "the zfs of the dead daemon ends")
    points.forget()
    host.restart(host.node_daemon)
    wait_for(lambda: reaches_its_agent(host), "the controller reaches the agent again")


POINTS = [(call, number) for call, case in CASES.items()
          for number in range(2 * len(case.operations))]


def id_of(value):
    return value if isinstance(value, str) else str(value)


@pytest.mark.parametrize("call, number", POINTS, ids=id_of)
def test_a_crash_and_a_repeat_end_as_undisturbed(new_scene, undisturbed, tried, call, number):
    case, expected = CASES[call], undisturbed(call)
    with new_scene(case) as (volume, points):
        point = dies(volume, case, points, number)
        assert point[:2] == expected.points[number][:2]
        tried.append(point)
        restart(volume.host, points)
        assert mask_answer(volume, case.call(volume)) == expected.answer
        with contextlib.suppress(AssertionError):
            wait_for(lambda: state(volume.host) == expected.state, "the same end state", 10)
        assert state(volume.host) == expected.state, f"died {point.when} {point.operation}"
