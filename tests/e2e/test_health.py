# SPDX-License-Identifier: MPL-2.0
"""Volume and storage health, and the limit of volumes of a node."""
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from client import csi, refused
from daemon import wait_for
from host import run, Volume
from staged import used

CODE = grpc.StatusCode


def of_node(volume, **fields):
    """Return [(status, reason)] of the volume from the node, or of its mounts at these paths."""
    health = volume.host.node.NodeGetVolumeHealth(volume_id=volume.id, **fields).volume_health
    assert health.volume_id == volume.id
    assert all(entry.message for entry in health.health_statuses)
    return [(entry.status, entry.reason) for entry in health.health_statuses]


def of_controller(volume):
    health = volume.host.controller.ControllerGetVolumeHealth(volume_id=volume.id).volume_health
    assert health.volume_id == volume.id
    return [(entry.status, entry.reason) for entry in health.health_statuses]


def of_storage(host):
    return [(row.status, row.reason) for row in host.node.NodeGetStorageHealth().backend_health]


def test_a_healthy_volume_has_no_status(host, volume):
    volume.create()
    assert of_node(volume) == of_controller(volume) == of_storage(host) == []
    used(volume)
    assert of_node(volume) == of_node(volume, volume_publish_path=volume.target) == []
    assert of_node(volume, staging_target_path=volume.staging) == []
    assert not host.controller.ControllerListVolumeHealth().entries


def test_an_unknown_volume_is_not_found(host):
    for call in (host.node.NodeGetVolumeHealth, host.controller.ControllerGetVolumeHealth):
        with refused(CODE.NOT_FOUND, naming="made-up"):
            call(volume_id="made-up")
        with refused(CODE.INVALID_ARGUMENT, naming="volume_id"):
            call()


def test_the_paths_select_the_mount_that_is_checked(volume):
    used(volume)
    run("mount", "-t", "tmpfs", "-o", "size=1m", "cover", volume.target)
    covered = [(csi.INACCESSIBLE, "MountedOver")]
    assert of_node(volume, volume_publish_path=volume.target) == covered
    assert of_node(volume, staging_target_path=volume.staging) == of_node(volume) == []
    run("umount", volume.target)


def test_an_unreadable_pool_is_reported(new_host):
    host = new_host()
    broken = Path(host.folder, "bin")
    broken.mkdir()
    host.node_daemon.env["PATH"] = f"{broken}:{host.node_daemon.env['PATH']}"
    mounted, made = used(Volume(host.start(), "mounted")), Volume(host, "made")
    made.create()
    Path(broken, "zfs").symlink_to("/bin/false")
    host.node_daemon.signal(signal.SIGHUP)
    wait_for(lambda: of_storage(host) == [(csi.STORAGE_UNREACHABLE, "PoolUnavailable")],
             "the pool is read again")
    assert of_node(mounted) == [(csi.DEGRADED, "PoolUnavailable")]
    assert of_node(made) == [(csi.INACCESSIBLE, "PoolUnavailable")]
    with refused(CODE.UNAVAILABLE, naming="agent"):
        host.controller.ControllerListVolumeHealth()
    mounted.unpublish()
    mounted.unstage()
    assert any(line["level"] == "warn" and line["msg"].startswith("cannot unload the key")
               and line["volume"] == "mounted" for line in host.node_daemon.log())
    Path(broken, "zfs").unlink()


def test_only_unhealthy_volumes_are_listed(new_host):
    """The unhealthy volume exists in two pools, as if its host had come back after it was given
    up."""
    b = new_host(node_id="b")
    a = new_host(node_id="a", agents=[f"unix://{b.agent_socket}"])
    for host in (b, a):
        host.start()
    for name, host in (("both", a), ("both", b), ("one", a)):
        host.agent.CreateDataset(id=name, size=1 << 23)
    pages, token = [], ""
    for _ in range(2):
        page = a.controller.ControllerListVolumeHealth(max_entries=1, starting_token=token)
        pages.append([(entry.volume_id, entry.health_statuses[0].status,
                       entry.health_statuses[0].reason) for entry in page.entries])
        token = page.next_token
    assert pages == [[("both", csi.DEGRADED, "ExistsTwice")], []] and not token
    with refused(CODE.ABORTED):
        a.controller.ControllerListVolumeHealth(starting_token="made-up")


@pytest.mark.parametrize("limit", [1, 3])
def test_max_volumes_limits_the_volumes_of_a_node(new_host, limit):
    host = new_host(node_args=("--max-volumes", str(limit))).start()
    assert host.node.NodeGetInfo().max_volumes_per_node == limit
    volumes = [Volume(host, f"v{n}") for n in range(limit + 3)]
    for volume in volumes:
        volume.create()

    def attach(volume):
        try:
            volume.attach()
        except grpc.RpcError as error:
            assert error.code() == CODE.RESOURCE_EXHAUSTED and "--max-volumes" in error.details()
            return None
        return volume

    with ThreadPoolExecutor(len(volumes)) as all_at_once:
        attached = [volume for volume in all_at_once.map(attach, volumes) if volume]
    assert len(attached) == limit
    attached[0].attach()
    attached[0].detach()
    waiting = next(volume for volume in volumes if volume not in attached)
    assert attach(waiting) and not attach(attached[0])
