# SPDX-License-Identifier: MPL-2.0
"""A move: another node becomes the owner of a volume. No data is lost, and the volume is never on
two nodes at once."""
import contextlib
import os
import subprocess
from pathlib import Path

import grpc
import pytest

from client import MIB, refused
from copies import create, in_use, write
from daemon import wait_for
from host import get, run, Volume
from test_copies import KEY
from zvols import device, length, read, zvol
from zvols import write as write_at


def content(volume):
    return {path.name: path.read_bytes() for path in Path(volume.target).iterdir()
            if path.is_file()}


def use(host, volume=None):
    """Attach, stage and publish a volume on this host, `data` or the given one, and return it."""
    volume = volume or Volume(host, "data")
    for step in (volume.attach, volume.stage, volume.publish):
        step()
    return volume


def make(host, kind="zfs"):
    """Return the volume `data`, not yet created, of this kind: zfs, block or a file system."""
    return Volume(host, "data", size=64 * MIB) if kind == "zfs" else zvol(host, "data", kind)


def filled(pair, kind="zfs"):
    """Create a volume with a copy, and write to it. Returns its content, which the copy has too.
    Afterwards the volume is not in use, and no push runs."""
    with in_use(pair, volume=make(pair.owner, kind)) as volume:
        write(volume, "one")
        pair.add()
        pair.owner.agent.SnapshotDataset(id="data", name="asked")
        write(volume, "two")
        wanted = content(volume)
    wait_for(pair.in_step, "the copy is in step")
    wait_for(pair.settled, "no push runs")
    return wanted


@contextlib.contextmanager
def mounted_elsewhere(source, kind):
    """Within the block, `source` is mounted in another mount namespace only."""
    holder = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c",
         f"mount -t {kind} {source} /mnt && echo ready && exec sleep infinity"],
        stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "ready\n"
        yield
    finally:
        holder.kill()
        holder.wait()


def has_device(host, name="data"):
    return device(host, name).exists()


def owners(pair):
    return [host.node_id for host in pair.hosts if host.agent.ListDatasets().datasets]


def test_a_volume_moves_and_comes_back(pair):
    """After the move the data and the snapshots are on n2, and the volume is writable there. The
    move back sends only a delta."""
    wanted = filled(pair)
    pair.zcsi("move", "data", "n2")
    assert owners(pair) == ["n2"] and "_replica/data" in pair.owner.leaves()
    [snapshot] = pair.other.agent.ListDatasetSnapshots(dataset_id="data").snapshots
    assert snapshot.name == "asked"
    assert not pair.owner.agent.ListDatasetSnapshots(dataset_id="data").snapshots
    assert get(pair.other.dataset("data"), "zcsi:epoch") == "1"
    pair.zcsi("move", "data", "n2")
    with refused(grpc.StatusCode.NOT_FOUND):
        Volume(pair.owner, "data").stage()
    [entry] = pair.owner.controller.ListVolumes().entries
    assert entry.volume.accessible_topology[0].segments["zcsi.zfs/node"] == "n2"
    there = use(pair.other)
    assert content(there) == wanted
    write(there, "three")
    wanted = content(there)
    there.down()
    start = pair.other.node_daemon.mark()
    wait_for(pair.settled, "no push runs")
    pair.zcsi("move", "data", "n1")
    sends = [argv for argv in pair.other.node_daemon.runs(start) if " send " in argv]
    assert sends and all(" -i " in argv for argv in sends)
    assert owners(pair) == ["n1"] and get(pair.owner.dataset("data"), "zcsi:epoch") == "2"
    back = use(pair.owner)
    assert content(back) == wanted
    back.down()
    wait_for(pair.settled, "no push runs")


def test_a_volume_in_use_does_not_move(pair):
    """A volume that is mounted in another mount namespace only is in use too."""
    with in_use(pair) as volume:
        pair.add()
        said = pair.zcsi("move", "data", "n2", status=1)
        assert "attached to node 'n1'" in said
        volume.unpublish()
        volume.unstage()
        volume.detach()
        name = pair.owner.dataset("data")
        with mounted_elsewhere(name, "zfs"):
            assert "mounted at '/mnt'" in pair.zcsi("move", "data", "n2", status=1)
        assert owners(pair) == ["n1"] and get(name, "zcsi:epoch") == "-"
        pair.zcsi("move", "data", "n2")
        assert owners(pair) == ["n2"]


def test_wrong_moves_are_refused(pair):
    create(Volume(pair.owner, "data"))
    assert "zcsi copy add data n2" in pair.zcsi("move", "data", "n2", status=1)
    pair.add()
    assert "is not moving" in pair.zcsi("move", "data", "n2", "--cancel", status=1)
    assert "does not exist" in pair.zcsi("move", "none", "n2", status=1)
    pair.zcsi("move", "data", "n1")
    pair.zcsi("pause", "data")
    assert "zcsi resume data" in pair.zcsi("move", "data", "n2", status=1)
    pair.zcsi("resume", "data")
    run("zfs", "create", "-o", "canmount=off", pair.owner.dataset("data/child"))
    assert "1 datasets are below it" in pair.zcsi("move", "data", "n2", status=1)
    assert owners(pair) == ["n1"]


@pytest.mark.parametrize("kind", ["zfs", "ext4"])
def test_an_encrypted_volume_moves_without_its_key(pair, kind):
    def encrypted(host):
        volume = make(host, kind)
        volume.secrets = {"encryption_key": KEY}
        return volume
    volume = use(pair.owner, create(encrypted(pair.owner), {"zfs.encryption": "aes-256-gcm"}))
    write(volume, "one")
    pair.add()
    for to in reversed(pair.hosts):
        wanted = content(volume)
        volume.down()
        assert get(volume.host.dataset("data"), "keystatus") == "unavailable"
        pair.zcsi("move", "data", to.node_id)
        assert get(to.dataset("data"), "keystatus") == "unavailable"
        volume = use(to, encrypted(to))
        assert content(volume) == wanted
        write(volume, f"on {to.node_id}")
    volume.down()


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_a_file_system_on_a_zvol_moves_and_comes_back(pair, kind):
    """Only the owner has a device in /dev; the copy has none."""
    wanted = filled(pair, kind)
    assert has_device(pair.owner) and not device(pair.other, "_replica/data").exists()
    for former, to in (pair.hosts, reversed(pair.hosts)):
        pair.zcsi("move", "data", to.node_id)
        assert owners(pair) == [to.node_id] and not has_device(former)
        assert "_replica/data" in former.leaves()
        assert not device(former, "_replica/data").exists()
        assert get(to.dataset("data"), "volmode") == "default"
        assert get(to.dataset("data"), "refreservation") == "0"
        volume = use(to, make(to, kind))
        assert content(volume) == wanted
        write(volume, f"on {to.node_id}")
        wanted = content(volume)
        volume.down()
        wait_for(pair.settled, "no push runs")


def test_a_block_device_keeps_its_size_and_its_reservation(pair):
    """A thick volume that has grown since its copy was made moves, is made thin, and moves back."""
    volume = create(zvol(pair.owner, "data", "block"), {"provisioning": "thick"})
    pair.add()
    volume.expand(64 * MIB)
    reserved = get(pair.owner.dataset("data"), "refreservation")
    assert int(reserved) >= 64 * MIB
    text = os.urandom(MIB)
    use(pair.owner, volume)
    write_at(volume.target, text, offset=48 * MIB)
    volume.down()
    pair.zcsi("move", "data", "n2")
    assert get(pair.other.dataset("data"), "volsize") == str(64 * MIB)
    assert get(pair.other.dataset("data"), "refreservation") == reserved
    volume = use(pair.other, zvol(pair.other, "data", "block"))
    assert length(volume.target) == 64 * MIB
    assert read(volume.target, MIB, offset=48 * MIB) == text
    write_at(volume.target, text, offset=8 * MIB)
    pair.other.agent.ModifyDataset(
        id="data", properties=[{"name": "refreservation", "value": "none"}])
    volume.down()
    wait_for(pair.settled, "no push runs")
    pair.zcsi("move", "data", "n1")
    assert get(pair.owner.dataset("data"), "refreservation") == "0"
    volume = use(pair.owner, zvol(pair.owner, "data", "block"))
    assert length(volume.target) == 64 * MIB
    assert read(volume.target, MIB, offset=8 * MIB) == text
    volume.down()


def test_a_thick_block_device_moves_only_where_it_has_room(pair):
    """The target node refuses for want of space before the owner has given the volume up."""
    create(zvol(pair.owner, "data", "block"), {"provisioning": "thick"})
    pair.add()
    pair.other.limit(16 * MIB)
    assert "available space" in pair.zcsi("move", "data", "n2", status=1)
    assert owners(pair) == ["n1"]
    wait_for(lambda: has_device(pair.owner), "the device")
    run("zfs", "set", "quota=none", pair.other.parent)
    pair.zcsi("move", "data", "n2")
    assert owners(pair) == ["n2"]


def test_a_device_in_use_does_not_move(pair):
    """A device is in use while a process has it open, or another mount namespace has it mounted."""
    wanted = filled(pair, "ext4")
    path = device(pair.owner)
    with open(path, "rb"):
        assert f"(pid {os.getpid()})" in pair.zcsi("move", "data", "n2", status=1)
    with mounted_elsewhere(path, "ext4"):
        assert "in use" in pair.zcsi("move", "data", "n2", status=1)
    assert owners(pair) == ["n1"] and get(pair.owner.dataset("data"), "volmode") == "default"
    wait_for(lambda: not pair.run("move", "data", "n2").returncode, "the mount has gone")
    volume = use(pair.other, make(pair.other, "ext4"))
    assert content(volume) == wanted
    volume.down()


def test_the_key_of_another_volume_does_not_move(pair):
    """A clone shares the key of the volume that it was made from, so both stay on one node."""
    volume = Volume(pair.owner, "data")
    volume.secrets = {"encryption_key": KEY}
    create(volume, {"zfs.encryption": "aes-256-gcm"})
    twin = Volume(pair.owner, "twin")
    twin.secrets = volume.secrets
    twin.create(volume_content_source={"volume": {"volume_id": "data"}})
    for name in ("data", "twin"):
        pair.zcsi("copy", "add", name, "n2")
    assert "has its key" in pair.zcsi("move", "data", "n2", status=1)
    assert "key of another dataset" in pair.zcsi("move", "twin", "n2", status=1)
