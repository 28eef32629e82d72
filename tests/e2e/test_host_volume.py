# SPDX-License-Identifier: MPL-2.0
"""zcsi-host-volume, called as Nomad's client calls it: with an operation and variables, and nothing
else in the environment. No controller takes part."""
import json
import os
import subprocess
import uuid
from pathlib import Path

import pytest

from client import MIB, ROOT
from daemon import BUILD
from host import fill, get, KERNEL_ZFS, run, SIZE
from test_cli import rows, zcsi
from test_in_use import another_namespace
from test_tls import free_port

PROGRAM = BUILD / "zcsi-host-volume"
VERSION = run("sed", "-n", "s/^VERSION *:= //p", ROOT / "Makefile").strip()


class HostVolume:
    """A volume as Nomad knows it, on the client's host."""

    def __init__(self, host, name="cache", id=None, **parameters):
        self.host = host
        self.id = id or str(uuid.uuid4())
        self.volume = f"{name}-{self.id[:8]}"
        self.folder = Path(host.folder, "volumes")
        self.path = self.folder / self.id
        self.variables = {"DHV_VOLUMES_DIR": str(self.folder), "DHV_VOLUME_ID": self.id,
                          "DHV_VOLUME_NAME": name, "DHV_NAMESPACE": "default",
                          "DHV_CAPACITY_MIN_BYTES": str(SIZE), "DHV_CAPACITY_MAX_BYTES": "0",
                          "DHV_PARAMETERS": json.dumps(parameters or None)}

    def call(self, operation, *options, status=0, **changes):
        """Return the answer. It is checked that an error is printed for Nomad and for its log."""
        prefix = self.host.namespaces.prefix if self.host.namespaces else ()
        done = subprocess.run(
            [*prefix, PROGRAM, operation, "--agent", f"unix://{self.host.agent_socket}", *options],
            env={**self.variables, "DHV_OPERATION": operation, **changes}, capture_output=True,
            text=True)
        answer = json.loads(done.stdout)
        assert done.returncode == status, answer
        assert done.stderr == (f"zcsi-host-volume: {answer['error']}\n" if status else "")
        return answer

    def create(self, *options, size=None, **kwargs):
        capacity = {"DHV_CAPACITY_MIN_BYTES": str(size)} if size else {}
        return self.call("create", *options, **capacity, **kwargs)

    def delete(self, *options, **kwargs):
        return self.call("delete", *options, DHV_CREATED_PATH=str(self.path), **kwargs)

    def refused(self, *options, **kwargs):
        return self.create(*options, status=1, **kwargs)["error"]

    def mounts(self):
        return [point for point, _ in self.host.mounts() if point == str(self.path)]


@pytest.fixture
def host(new_host):
    made = new_host(node_args=["--trash-ttl", "3600"])
    made.start_node()
    return made


@pytest.fixture
def cache(host):
    return HostVolume(host)


def listed(host):
    return {row[0]: row for row in rows(zcsi(host, "list", "-Hp"))}


def test_a_fingerprint_needs_no_zcsi_node():
    """Nomad waits for a second, and sets no other variable."""
    done = subprocess.run([PROGRAM, "fingerprint"], env={"DHV_OPERATION": "fingerprint"},
                          capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout) == {"version": VERSION}


def test_a_volume_is_made_and_mounted(host, cache):
    assert cache.create() == {"path": str(cache.path), "bytes": SIZE}
    Path(cache.path, "file").write_text("kept")
    for _ in range(2):  # as at every start of the client
        assert cache.create() == {"path": str(cache.path), "bytes": SIZE}
    assert cache.mounts() == [str(cache.path)]
    assert Path(cache.path, "file").read_text() == "kept"
    assert list(listed(host)) == [cache.volume]
    dataset = host.dataset(cache.volume)
    assert get(dataset, "refquota") == str(SIZE)
    assert get(dataset, "nomad:host-volume") == cache.id
    assert 0.9 * SIZE < fill(cache.path / "much") <= SIZE


def test_a_volume_grows_and_never_shrinks(host, cache):
    cache.create()
    fill(cache.path / "much")
    assert cache.create(size=2 * SIZE)["bytes"] == 2 * SIZE
    assert fill(cache.path / "more") > SIZE / 2
    assert cache.create()["bytes"] == 2 * SIZE
    assert cache.create(DHV_CAPACITY_MAX_BYTES=str(SIZE))["bytes"] == 2 * SIZE
    assert get(host.dataset(cache.volume), "refquota") == str(2 * SIZE)


def test_a_mount_outlives_zcsi_node_and_comes_back_after_a_boot(host, cache):
    cache.create()
    Path(cache.path, "file").write_text("kept")
    host.node_daemon.kill()
    assert Path(cache.path, "file").read_text() == "kept"
    run("umount", cache.path)  # a boot removes all mounts
    host.start_node()
    cache.create()
    assert cache.mounts() == [str(cache.path)]
    assert Path(cache.path, "file").read_text() == "kept"


def test_create_waits_for_zcsi_node(host, cache):
    """After a boot Nomad's client and zcsi-node start at the same time."""
    host.node_daemon.stop()
    waiting = subprocess.Popen(
        [PROGRAM, "create", "--agent", f"unix://{host.agent_socket}"],
        env=cache.variables, stdout=subprocess.PIPE, text=True)
    host.start_node()
    answer = json.loads(waiting.communicate()[0])
    assert answer["path"] == str(cache.path) and waiting.returncode == 0


def test_a_zcsi_node_that_is_down_is_waited_for_no_longer_than_asked(host, cache):
    host.node_daemon.stop()
    assert "agent.sock" in cache.refused("--timeout", "1")
    assert "agent.sock" in cache.delete("--timeout", "1", status=1)["error"]
    assert not cache.folder.exists()


def test_a_deleted_volume_is_in_the_trash(host, cache):
    cache.create()
    Path(cache.path, "file").write_text("kept")
    for _ in range(2):
        assert cache.delete() == {}
        assert not cache.mounts() and not cache.path.exists() and not listed(host)
    assert [row[0] for row in rows(zcsi(host, "trash", "list", "-Hp"))] == [cache.volume]
    zcsi(host, "trash", "restore", cache.volume)
    cache.create()
    assert Path(cache.path, "file").read_text() == "kept"


def test_a_volume_is_deleted_by_its_id_alone(host, cache):
    """Nomad's client knows no more where it could not keep what create has answered."""
    cache.create()
    cache.call("delete", DHV_CREATED_PATH=str(cache.folder), DHV_VOLUME_NAME="", DHV_NAMESPACE="")
    assert not listed(host) and not cache.path.exists() and cache.folder.exists()


def test_two_volumes_may_have_one_name(host, cache):
    other = HostVolume(host)
    cache.create()
    other.create()
    assert sorted(listed(host)) == sorted([cache.volume, other.volume])
    cache.delete()
    assert list(listed(host)) == [other.volume]


def test_a_volume_is_known_by_its_whole_id(host, cache):
    cache.create()
    alike = HostVolume(host, id=cache.id[:-1] + ("0" if cache.id[-1] != "0" else "1"))
    assert "nomad:host-volume is" in alike.refused()
    assert alike.delete() == {} and list(listed(host)) == [cache.volume]


def test_a_renamed_volume_stays_that_of_nomad(host, cache):
    cache.create()
    run("umount", cache.path)
    zcsi(host, "unpublish", cache.volume, "n1")
    zcsi(host, "rename", cache.volume, "orders")
    assert cache.create()["path"] == str(cache.path)
    assert list(listed(host)) == ["orders"]
    cache.delete()
    assert not listed(host)


def test_a_volume_in_use_is_not_deleted(host, cache):
    """A task has the volume in a mount namespace of its own. zfs-fuse cannot mount it again while
    it is there."""
    cache.create()
    with another_namespace() as task:
        said = cache.delete(status=1)["error"]
        assert f"sh (pid {task.pid})" in said and "stop the job" in said
        assert bool(cache.mounts()) == KERNEL_ZFS
        assert ("'nomad volume create' again" in said) != KERNEL_ZFS
    cache.create()
    assert cache.mounts() == [str(cache.path)]
    cache.delete()
    assert not listed(host)


def test_a_volume_with_an_open_file_is_not_deleted(cache):
    cache.create()
    with open(cache.path / "file", "w", encoding="utf-8"):
        assert f"is in use by python3 (pid {os.getpid()})" in cache.delete(status=1)["error"]
    assert cache.mounts() == [str(cache.path)]
    cache.delete()


def test_controllers_leave_the_volume_alone(host, other, cache):
    """CSI lists it, and neither deletes it nor attaches it to another host."""
    cache.create()
    host.start_controller()
    host.wait_for_agent()
    [entry] = host.controller.ListVolumes().entries
    assert entry.volume.volume_id == cache.volume
    assert list(entry.status.published_node_ids) == ["n1"]
    refusal = host.controller.DeleteVolume.future(volume_id=cache.volume)
    assert refusal.code().name == "FAILED_PRECONDITION" and "n1" in refusal.details()
    assert "stays attached" in zcsi(host, "unpublish", cache.volume, "n1", status=1)
    assert cache.mounts() == [str(cache.path)]


def test_zcsi_finds_nothing_wrong_with_it(host, cache):
    cache.create()
    assert [row[-1] for row in rows(zcsi(host, "status", "-H"))] == ["ok"]
    assert zcsi(host, "doctor") == "nothing is wrong\n"


def test_only_a_unix_socket_mounts(new_host):
    """A caller that may manage volumes by TCP does not choose where they are mounted."""
    address = f"127.0.0.1:{free_port()}"
    host = new_host(node_args=["--agent-endpoint", f"tcp://{address}"])
    host.start_node()
    assert host.agent.NodeGetInfo().node_id == "n1"
    by_tcp = host.node_daemon.client(address)
    assert by_tcp.GetHost().node_id == "n1"
    assert by_tcp.NodeGetInfo.future().code().name == "UNIMPLEMENTED"


def test_no_empty_volume_takes_the_place_of_one_that_is_gone(host, cache):
    cache.create()
    run("umount", cache.path)
    zcsi(host, "unpublish", cache.volume, "n1")
    host.agent.DestroyDataset(id=cache.volume)
    assert "zcsi trash list" in cache.refused()
    assert not listed(host)
    cache.path.rmdir()
    assert cache.create()["bytes"] == SIZE


def test_nothing_is_mounted_over_anything_else(host, cache):
    cache.create()
    run("umount", cache.path)
    run("mount", "-t", "tmpfs", "something", cache.path)
    assert "'something' is mounted" in cache.refused()
    run("umount", cache.path)
    (cache.path / "file").touch()
    assert "not empty" in cache.refused()
    assert (cache.path / "file").exists()
    (cache.path / "file").unlink()
    cache.create()


def test_the_parameters_are_those_of_a_volume(host):
    mine = HostVolume(host, **{"owner": "1000", "mode": "0750", "provisioning": "thick",
                               "zfs.compression": "gzip", "keep": "daily=2"})
    mine.create()
    dataset = host.dataset(mine.volume)
    assert get(dataset, "compression") == "gzip" and get(dataset, "zcsi:keep") == "daily=2"
    assert get(dataset, "refreservation") == str(SIZE)
    assert mine.path.stat().st_uid == 1000 and mine.path.stat().st_mode & 0o7777 == 0o750
    mine.variables["DHV_PARAMETERS"] = json.dumps({"owner": "1000"})
    assert "zcsi modify" in mine.refused()


@pytest.mark.parametrize("parameters, said", [
    ({"zfs.encryption": "on"}, "make a volume of CSI instead"),
    ({"attach": "nfs"}, "make a volume of CSI instead"), ({"node": "n2"}, "node 'n1'"),
    ({"pool": "other"}, "pool=other"), ({"replicas": "2"}, "give members"),
    ({"backup": "n2"}, "zcsi backup add"), ({"members": "n2,n3"}, "has to name node 'n1'"),
    ({"compression": "on"}, "zfs.compression"),
    ({"zfs.volblocksize": "8k"}, "has no such property"),
    ({"zfs.user.nomad:host-volume": "mine"}, "it gets the volume's id")])
def test_a_wrong_parameter_makes_nothing(host, parameters, said):
    assert said in HostVolume(host, **parameters).refused()
    assert not host.leaves()


@pytest.mark.parametrize("changes, said", [
    ({"DHV_PARAMETERS": "{\"a\": "}, "DHV_PARAMETERS"), ({"DHV_VOLUME_ID": "../x"}, "not the id"),
    ({"DHV_VOLUME_NAME": "a\x07b"}, "control character"), ({"DHV_VOLUME_NAME": "a" * 130}, "130"),
    ({"DHV_CAPACITY_MIN_BYTES": "9" * 30}, "not a number of bytes"),
    ({"DHV_CAPACITY_MIN_BYTES": str(2 ** 62)}, "largest volume"),
    ({"DHV_CAPACITY_MAX_BYTES": "1"}, "capacity_max"),
    ({"DHV_VOLUMES_DIR": "volumes"}, "host_volumes_dir"),
    ({"DHV_VOLUMES_DIR": "/tmp/../etc"}, "host_volumes_dir")])
def test_a_wrong_variable_makes_nothing(host, cache, changes, said):
    assert said in cache.call("create", status=1, **changes)["error"]
    assert not host.leaves()


def test_a_name_may_have_a_slash(host):
    mine = HostVolume(host, name="a/../b")
    assert mine.create()["path"] == str(mine.path)
    assert list(listed(host)) == [mine.volume]
    mine.delete()


def test_a_pool_without_room_is_an_error(host):
    """The text for Nomad's user says what to do."""
    host.limit(4 * MIB)
    thick = HostVolume(host, provisioning="thick")
    assert "free space" in thick.refused()
    assert not host.leaves() and not thick.path.exists()


def test_an_unknown_operation_fails(cache):
    assert "none of fingerprint" in cache.call("resize", status=1)["error"]
