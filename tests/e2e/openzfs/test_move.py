# SPDX-License-Identifier: MPL-2.0
"""A move: another node becomes the owner of a volume. Nothing is lost, and at no moment do two have
it."""
import subprocess
from pathlib import Path

import grpc

from client import refused
from copies import create, in_use, write
from daemon import wait_for
from host import get, run, Volume
from test_copies import KEY
from zvols import zvol


def content(volume):
    return {path.name: path.read_bytes() for path in Path(volume.target).iterdir()
            if path.is_file()}


def use(host, volume=None):
    """The volume as a workload of this host uses it."""
    volume = volume or Volume(host, "data")
    for step in (volume.attach, volume.stage, volume.publish):
        step()
    return volume


def filled(pair):
    """Make a volume with a copy, and write to it. Returns its content, which the copy has too. It
    is not in use any more, and no push runs."""
    with in_use(pair) as volume:
        write(volume, "one")
        pair.add()
        pair.owner.agent.SnapshotDataset(id="data", name="asked")
        write(volume, "two")
        wanted = content(volume)
    wait_for(pair.in_step, "the copy is in step")
    wait_for(pair.settled, "no push runs")
    return wanted


def owners(pair):
    return [host.node_id for host in pair.hosts if host.agent.ListDatasets().datasets]


def test_a_volume_moves_and_comes_back(pair):
    """Data and snapshots are there, it is writable, and on the way back only a delta is sent."""
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
    """Also where only another mount namespace has it mounted."""
    with in_use(pair) as volume:
        pair.add()
        said = pair.zcsi("move", "data", "n2", status=1)
        assert "attached to node 'n1'" in said
        volume.unpublish()
        volume.unstage()
        volume.detach()
        name = pair.owner.dataset("data")
        holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             f"mount -t zfs {name} /mnt && echo ready && exec sleep infinity"],
            stdout=subprocess.PIPE, text=True)
        assert holder.stdout.readline() == "ready\n"
        assert "mounted at '/mnt'" in pair.zcsi("move", "data", "n2", status=1)
        holder.kill()
        holder.wait()
        assert owners(pair) == ["n1"] and get(name, "zcsi:epoch") == "-"
        pair.zcsi("move", "data", "n2")
        assert owners(pair) == ["n2"]


def test_refusals(pair):
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
    create(zvol(pair.owner, "block", "block"))
    pair.zcsi("copy", "add", "block", "n2")
    assert "it is a block device" in pair.zcsi("move", "block", "n2", status=1)
    assert owners(pair) == ["n1"]


def there_and_back(pair, make):
    """make: returns the volume, not yet created, for a host."""
    parameters = {"zfs.encryption": "aes-256-gcm"} if make(pair.owner).secrets else {}
    volume = use(pair.owner, create(make(pair.owner), parameters))
    write(volume, "one")
    pair.add()
    wanted = content(volume)
    volume.down()
    pair.zcsi("move", "data", "n2")
    volume = use(pair.other, make(pair.other))
    assert content(volume) == wanted
    write(volume, "two")
    wanted = content(volume)
    volume.down()
    pair.zcsi("move", "data", "n1")
    volume = use(pair.owner, make(pair.owner))
    assert content(volume) == wanted
    volume.down()


def test_an_encrypted_volume_moves_without_its_key(pair):
    def make(host):
        volume = Volume(host, "data")
        volume.secrets = {"encryption_key": KEY}
        return volume
    there_and_back(pair, make)


def test_the_key_of_another_volume_does_not_move(pair):
    """A clone has the key of the volume it was made from, and both stay together."""
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
