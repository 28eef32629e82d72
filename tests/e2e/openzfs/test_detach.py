# SPDX-License-Identifier: MPL-2.0
"""zcsi detach: a clone becomes a volume of its own, with all that it has, or is left as it was."""
import hashlib
import os
import tempfile
import time
from pathlib import Path

import grpc
import pytest

from client import MIB, PATIENCE, refused, size_of
from crash.state import names
from daemon import wait_for
from host import get, run, Volume
from snapshots import clone, drop, listed, restore, take, trashed
from test_cli import rows, zcsi
from zvols import zvol

CODE = grpc.StatusCode
SLOWLY = ("--timeout", str(10 * PATIENCE))
SIZES = {"zfs": 16 * MIB, "ext4": 32 * MIB, "block": 32 * MIB}
LEFT = ["_detach", "_trash", "copy"]


def up(volume):
    for step in (volume.attach, volume.stage, volume.publish):
        step()


def write(volume, text, size=MIB):
    """Use the volume, write a text and random bytes to it, and end the use."""
    up(volume)
    place = Path(volume.target)
    place = place / f"note-{text}" if place.is_dir() else place
    with open(place, "r+b" if place.exists() else "wb") as file:
        file.write(text.encode() + os.urandom(size))
        file.flush()
        os.fsync(file.fileno())
    volume.down()


def content(volume):
    """Return a hash of each file of a filesystem, or of a whole device."""
    up(volume)
    place = Path(volume.target)
    files = sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() \
        else [place]
    found = [(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files]
    volume.down()
    return found


def own(name):
    """Return all that is set on a dataset and its snapshots."""
    listing = run("zfs", "get", "-Hp", "-d", "1", "-s", "local,received", "-o",
                  "name,property,value", "-t", "filesystem,volume,snapshot", "all", name)
    return sorted(listing.splitlines())


def history(name):
    listing = run("zfs", "list", "-Hp", "-d", "1", "-t", "snapshot", "-s", "createtxg", "-o",
                  "name,guid,creation", name)
    return listing.splitlines()


def detach(host, volume="copy", *args, **kwargs):
    return dict(rows(zcsi(host, "detach", volume, "-Hp", *SLOWLY, *args, **kwargs)))


def refusal(host, volume="copy"):
    said = zcsi(host, "detach", volume, *SLOWLY, status=1)
    assert f"volume '{volume}' is not detached from its origin" in said
    return said


def made(host, kind, **fields):
    volume = Volume(host, "data") if kind == "zfs" else zvol(host, "data", kind, SIZES[kind])
    volume.size = SIZES[kind]
    volume.create(**fields)
    return volume


def cloned(volume, name="copy", **fields):
    """Return a clone of the snapshot data@s of the volume, which is taken if there is none."""
    copy = Volume(volume.host, name, volume.size)
    copy.capability = volume.capability
    source = {"volume_content_source": {"snapshot": {"snapshot_id": "data@s"}}}
    if "data@s" not in listed(volume.host):
        take(volume)
    copy.create(**source, **fields)
    return copy


@pytest.mark.parametrize("kind", SIZES)
def test_a_detached_clone_keeps_all_data_and_frees_its_source(host, kind):
    volume = made(host, kind)
    write(volume, "1-source")
    copy = cloned(volume)
    write(copy, "2-a")
    take(copy, "a")
    write(copy, "3-b")
    take(copy, "b")
    host.agent.SnapshotGroup(group="g", ids=["copy"])
    run("zfs", "snapshot", "-o", "site:by=hand", host.dataset("copy@by-hand"))
    write(copy, "4-latest")
    name = host.dataset("copy")
    data, properties, snapshots = content(copy), own(name), history(name)
    host.read_again()
    ids = listed(host)

    done = detach(host)
    assert (done["volume"], done["node"], done["state"]) == ("copy", "n1", "detached")
    assert done["origin"] == host.dataset("data@s") and int(done["size"]) > 3 * MIB
    assert get(name, "origin") == "-"
    assert (own(name), history(name)) == (properties, snapshots)
    assert listed(host) == ids
    assert content(copy) == data
    wait_for(lambda: trashed(host) == [], "its former dataset is destroyed")

    drop(host, "data@s")
    volume.delete()
    wait_for(lambda: host.leaves() == LEFT, "the source is gone")
    assert content(copy) == data
    other = restore(host, "copy@a", "other", volume_capabilities=[copy.capability],
                    capacity_range=size_of(copy.size))
    other.capability = copy.capability
    assert "2-a" in str(content(other)) or kind == "block"
    other.delete()
    for snapshot in ("copy@a", "copy@b"):
        drop(host, snapshot)
    assert detach(host)["state"] == "depends on no other volume"


def test_a_clone_of_a_volume_frees_the_hidden_snapshot(host, volume):
    volume.create()
    write(volume, "1-source")
    copy = clone(volume)
    data = content(copy)
    assert "_clone-copy" in detach(host)["origin"]
    wait_for(lambda: names(host.parent) == sorted([*LEFT, "data"]), "its snapshot is destroyed")
    volume.delete()
    assert content(copy) == data


def test_a_deleted_source_leaves_the_trash(host, volume):
    volume.create()
    write(volume, "1-source")
    copy = clone(volume)
    volume.delete()
    assert len(trashed(host)) == 1
    detach(host)
    wait_for(lambda: host.leaves() == LEFT, "the source is gone")
    assert len(content(copy)) == 1


@pytest.mark.parametrize("kind", ["zfs", "block"])
def test_a_thick_volume_stays_thick(host, kind):
    volume = made(host, kind)
    cloned(volume, parameters={"provisioning": "thick", "zfs.compression": "zle",
                               "zfs.user.site:owner": "a b"})
    name = host.dataset("copy")
    before, reserved = own(name), get(name, "refreservation")
    assert int(reserved) >= SIZES[kind]
    record = host.controller.ControllerGetVolume(volume_id="copy")
    detach(host)
    assert own(name) == before and get(name, "refreservation") == reserved
    host.read_again()
    assert host.controller.ControllerGetVolume(volume_id="copy") == record
    wait_for(lambda: trashed(host) == [], "its former dataset is destroyed")


def test_a_former_dataset_is_kept_as_a_deleted_volume(new_host):
    host = new_host(node_args=["--trash-ttl", 3600000]).start()
    volume = made(host, "zfs")
    cloned(volume)
    before = time.time()
    detach(host)
    found = host.agent.ListTrash().datasets
    assert [(each.id, each.snapshots) for each in found] == [("copy", 0)]
    assert before - 60 < found[0].deleted and found[0].until - found[0].deleted == 3600000
    assert found[0].leaf.startswith("old-copy-")
    zcsi(host, "trash", "empty", "copy", "--destroy", "1", *SLOWLY)
    assert trashed(host) == []


def test_a_dry_run_changes_nothing(host):
    volume = made(host, "zfs")
    cloned(volume)
    before = own(host.dataset("copy")), host.state()
    shown = detach(host, "copy", "--dry-run")
    assert shown["state"] == "would be copied" and int(shown["size"]) > 0
    assert int(shown["free"]) > int(shown["size"])
    assert (own(host.dataset("copy")), host.state()) == before
    assert detach(host, "data", "--dry-run")["state"] == "depends on no other volume"
    assert detach(host, "data")["state"] == "depends on no other volume"
    assert (own(host.dataset("copy")), host.state()) == before


def test_a_volume_with_dependents_is_refused(host):
    volume = made(host, "zfs")
    copy = cloned(volume)
    take(copy, "a")
    name = host.dataset("copy")
    restore(host, "copy@a", "third", capacity_range=size_of(copy.size))
    assert "zcsi detach third" in refusal(host)
    detach(host, "third")
    wait_for(lambda: get(name + "@a", "clones") in ("", "-"), "it has no clone any more")
    run("zfs", "hold", "kept", name + "@a")
    assert "zfs holds" in refusal(host)
    run("zfs", "release", "kept", name + "@a")
    run("zfs", "bookmark", name + "@a", name + "#mark")
    assert f"zfs destroy {name}#mark" in refusal(host)
    run("zfs", "destroy", name + "#mark")
    run("zfs", "bookmark", name + "@a", name + "#_backup-n2")
    assert "zcsi backup drop copy n2" in refusal(host)
    run("zfs", "destroy", name + "#_backup-n2")
    run("zfs", "set", "zcsi:members=00112233aabbccdd:300:n1,n2", name)
    host.read_again()
    assert "zcsi copy drop copy NODE" in refusal(host)
    run("zfs", "inherit", "zcsi:members", name)
    host.read_again()
    assert detach(host)["state"] == "detached"


def test_a_volume_in_use_is_refused(host):
    volume = made(host, "zfs")
    copy = cloned(volume)
    copy.attach()
    assert "attached to" in refusal(host) and "zcsi unpublish copy" in refusal(host)
    copy.stage()
    run("zfs", "set", "zcsi:published=-", host.dataset("copy"))
    host.read_again()
    assert "mounted at" in refusal(host)
    copy.unstage()
    assert detach(host)["state"] == "detached"


def test_an_open_device_is_refused(host):
    copy = cloned(made(host, "block"))
    device = Path("/dev/zvol", host.dataset("copy"))
    wait_for(device.exists, "the device")
    with open(device, "rb"):
        assert "is open in" in refusal(host)
    assert detach(host)["state"] == "detached"
    assert len(content(copy)) == 1


def test_an_encrypted_clone_is_refused(host, volume):
    volume.secrets = {"encryption_key": "0f" * 32}
    volume.create(parameters={"zfs.encryption": "on"})
    take(volume)
    copy = Volume(host, "copy")
    copy.secrets = volume.secrets
    copy.create(volume_content_source={"snapshot": {"snapshot_id": "data@s"}},
                parameters={"zfs.encryption": "on"})
    assert "it is encrypted" in refusal(host)


def test_a_detach_without_room_is_refused_and_leaves_nothing(host):
    volume = made(host, "zfs")
    write(volume, "1-source", 6 * MIB)
    copy = cloned(volume)
    before = own(host.dataset("copy")), history(host.dataset("copy")), names(host.parent)
    host.limit(10 * MIB)
    assert "bytes" in refusal(host) and "zcsi trash empty" in refusal(host)
    run("zfs", "set", "quota=none", host.parent)
    run("zfs", "create", "-o", "canmount=off", "-o", "mountpoint=none", "-o", "quota=4M",
        host.dataset("_detach"))
    said = refusal(host)
    assert "quota" in said.lower() or "space" in said.lower(), said
    assert (own(host.dataset("copy")), history(host.dataset("copy"))) == before[:2]
    assert [each for each in names(host.parent) if each not in ("_detach", "_trash")] == before[2]
    run("zfs", "set", "quota=none", host.dataset("_detach"))
    assert detach(host)["state"] == "detached"
    assert len(content(copy)) == 1


def ended(host):
    found = host.agent.GetDatasetDetach(id="copy")
    assert not found.error, found.error
    return not found.running


def test_a_snapshot_during_the_copy_is_copied_too(gated, gate):
    """Meanwhile the volume cannot be used, and a second call waits for the same end."""
    copy = cloned(made(gated, "zfs"))
    name = gated.dataset("copy")
    gate.hold(" receive ")
    assert gated.agent.DetachDataset(id="copy").running
    gate.arrived()
    with refused(CODE.UNAVAILABLE, naming="zcsi detach copy"):
        copy.attach()
    run("zfs", "snapshot", name + "@late")
    assert gated.agent.DetachDataset(id="copy").running
    gate.open()
    wait_for(lambda: ended(gated), "it is detached")
    assert [line.split("\t")[0] for line in history(name)] == [name + "@late"]
    assert get(name, "origin") == "-"
    up(copy)
    copy.down()


def test_a_write_during_the_copy_is_not_lost(gated, gate):
    copy = cloned(made(gated, "zfs"))
    gate.hold(" receive ")
    assert gated.agent.DetachDataset(id="copy").running
    gate.arrived()
    with tempfile.TemporaryDirectory() as folder:
        run("mount", "-t", "zfs", gated.dataset("copy"), folder)
        Path(folder, "note").write_text("by hand")
        gate.open()
        wait_for(lambda: not gated.agent.GetDatasetDetach(id="copy").running, "it has ended")
        assert "mounted at" in gated.agent.GetDatasetDetach(id="copy").error
        assert gated.leaves() == ["_detach", "_trash", "copy", "data"]
        assert history(gated.dataset("copy")) == []
        run("umount", folder)
    assert detach(gated)["state"] == "detached"
    assert [name for name, _ in content(copy)] == ["note"]


def test_a_snapshot_during_the_last_step_is_kept(gated, gate):
    """By hand, between the last look at its snapshots and the one at what was written since."""
    copy = cloned(made(gated, "zfs"))
    name = gated.dataset("copy")
    gate.hold(" written " + name)
    assert gated.agent.DetachDataset(id="copy").running
    gate.arrived()
    with tempfile.TemporaryDirectory() as folder:
        run("mount", "-t", "zfs", name, folder)
        Path(folder, "note").write_text("by hand")
        run("umount", folder)
    run("zfs", "snapshot", name + "@late")
    gate.open()
    wait_for(lambda: not gated.agent.GetDatasetDetach(id="copy").running, "it has ended")
    assert "a snapshot was taken" in gated.agent.GetDatasetDetach(id="copy").error
    assert detach(gated)["state"] == "detached"
    assert [name for name, _ in content(copy)] == ["note"]
