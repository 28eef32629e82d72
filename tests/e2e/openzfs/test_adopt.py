# SPDX-License-Identifier: MPL-2.0
"""zcsi receive and adopt with OpenZFS: an encrypted stream keeps its key, and a zvol becomes a
volume, also one of another driver, with the filesystem that is on it."""
import os
import subprocess
from pathlib import Path

import pytest

from client import MIB, PATIENCE
from daemon import BUILD, wait_for
from host import Volume, datasets, get, run
from zvols import zvol

KEY = "0123456789abcdef" * 4
TEXT = os.urandom(MIB)


def command(host, *args):
    return [BUILD / "zcsi", "--timeout", str(30 * PATIENCE), "--agent",
            f"unix://{host.agent_socket}", *args]


def up(volume):
    for step in (volume.attach, volume.stage, volume.publish):
        step()


def receive(host, *args):
    """Create the volume `copy` from a stream of `data`, and return the stderr of zcsi receive."""
    host.agent.SnapshotDataset(id="data", name="one")
    with subprocess.Popen(command(host, "send", "data@one"), stdout=subprocess.PIPE) as send:
        done = subprocess.run(command(host, "receive", "copy", *args), stdin=send.stdout,
                              stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0 == send.returncode, done
    assert host.ids() == ["copy", "data"]
    assert host.dataset("_received/copy") not in datasets(host.parent)
    return done.stderr


def test_an_encrypted_stream_keeps_its_key(host):
    volume = Volume(host, "data")
    volume.secrets = {"encryption_key": KEY}
    volume.create(parameters={"zfs.encryption": "aes-256-gcm"})
    up(volume)
    Path(volume.target, "data").write_bytes(TEXT)
    volume.down()
    assert "'copy' is encrypted" in receive(host, "--size", "8M")
    name = host.dataset("copy")
    assert get(name, "encryptionroot") == name and get(name, "keystatus") == "unavailable"
    copy = Volume(host, "copy")
    copy.secrets = volume.secrets
    up(copy)
    assert Path(copy.target, "data").read_bytes() == TEXT
    copy.down()
    assert get(name, "keystatus") == "unavailable"


def test_a_zvol_becomes_a_volume(host):
    volume = zvol(host, "data", "ext4")
    volume.create()
    up(volume)
    Path(volume.target, "data").write_bytes(TEXT)
    volume.down()
    assert receive(host, "--format", "ext4") == ""
    copy = zvol(host, "copy", "ext4")
    up(copy)
    assert Path(copy.target, "data").read_bytes() == TEXT
    copy.down()
    run("zfs", "create", "-p", host.dataset("_received"))
    run("zfs", "clone", host.dataset("data@one"), host.dataset("_received/clone"))
    done = subprocess.run(command(host, "adopt", "clone", "--format", "ext4"),
                          stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1 and "has no snapshot" in done.stderr
    run("zfs", "snapshot", host.dataset("_received/clone@one"))
    done = subprocess.run(command(host, "adopt", "clone", "--format", "ext4"),
                          stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1 and "is a clone of" in done.stderr
    run("zfs", "destroy", host.dataset("_received/clone@one"))
    run("zfs", "destroy", host.dataset("_received/clone"))


# Datasets of other drivers

def adopt(host, name, *args, status=0):
    """Run zcsi adopt, and return its stderr."""
    done = subprocess.run(command(host, "adopt", name, *args), stderr=subprocess.PIPE, text=True,
                          check=False)
    assert done.returncode == status, done
    return done.stderr


@pytest.fixture
def foreign(host):
    """The parent of another driver's datasets, in the pool of the host."""
    name = f"{host.parent}-csi"
    run("zfs", "create", "-o", "mountpoint=none", name)
    yield name
    run("zfs", "destroy", "-r", name)


def device_of(name):
    path = Path("/dev/zvol", name)
    wait_for(path.exists, f"{path} appears")
    return path


def make_zvol(name, *options):
    run("zfs", "create", "-s", "-V", str(32 * MIB), "-o", "democratic-csi:managed_resource=true",
        *options, name)
    return device_of(name)


def uuid(device):
    """Return the UUID of the filesystem on the device."""
    return run("blkid", "-p", "-o", "value", "-s", "UUID", device)


def test_a_zvol_of_another_driver_keeps_its_filesystem(host, foreign, tmp_path):
    name = f"{foreign}/acme"
    device = make_zvol(name)
    assert "contains 'nothing'; add --format block" in adopt(host, name, status=1)
    run("mkfs.ext4", "-q", device)
    run("mount", device, tmp_path)
    Path(tmp_path, "data").write_bytes(TEXT)
    assert "is in use" in adopt(host, name, status=1)
    run("umount", tmp_path)
    run("zfs", "snapshot", f"{name}@one")
    before = uuid(device)
    with os.fdopen(os.open(device, os.O_RDONLY | os.O_EXCL)):
        assert "is in use" in adopt(host, name, status=1)
    assert "its device contains 'ext4'" in adopt(host, name, "--format", "xfs", status=1)
    assert host.ids() == []
    adopt(host, name)
    assert host.ids() == ["acme"]
    made = host.dataset("acme")
    assert get(made, "democratic-csi:managed_resource") == "true"
    volume = zvol(host, "acme", "ext4")
    volume.create()  # finds it
    up(volume)
    assert Path(volume.target, "data").read_bytes() == TEXT
    volume.down()
    assert uuid(device_of(made)) == before
    wait_for(lambda: [row.id for row in host.agent.ListDatasetSnapshots(dataset_id="acme")
                      .snapshots] == ["acme@one"], "its snapshot is listed")


def test_a_clone_of_another_driver_stays_a_clone(host, foreign):
    run("mkfs.ext4", "-q", make_zvol(f"{foreign}/acme"))
    run("zfs", "snapshot", f"{foreign}/acme@one")
    run("zfs", "clone", f"{foreign}/acme@one", f"{foreign}/copy")
    before = uuid(device_of(f"{foreign}/copy"))
    for leaf in ("copy", "acme"):
        adopt(host, f"{foreign}/{leaf}")
    assert get(host.dataset("copy"), "origin") == host.dataset("acme@one")
    volumes = [zvol(host, leaf, "ext4") for leaf in ("acme", "copy")]
    for volume in volumes:
        up(volume)
    for volume in volumes:
        volume.down()
    assert uuid(device_of(host.dataset("copy"))) != before == uuid(device_of(host.dataset("acme")))


def test_a_blank_zvol_becomes_a_block_volume(host, foreign):
    make_zvol(f"{foreign}/acme")
    adopt(host, f"{foreign}/acme", "--format", "block")
    assert get(host.dataset("acme"), "zcsi:format") == "block"


def test_a_stream_that_was_interrupted_is_not_adopted(host, foreign):
    run("zfs", "create", "-o", f"mountpoint=/{foreign}/source", f"{foreign}/source")
    Path(f"/{foreign}/source/data").write_bytes(TEXT)
    run("zfs", "snapshot", f"{foreign}/source@one")
    stream = subprocess.run(["zfs", "send", f"{foreign}/source@one"], stdout=subprocess.PIPE,
                            check=True).stdout
    name = f"{foreign}/acme"
    subprocess.run(["zfs", "receive", "-u", "-s", name], input=stream[:len(stream) // 2],
                   check=False, capture_output=True)
    assert "is still being received" in adopt(host, name, "--size", "8M", status=1)


def test_an_encrypted_dataset_needs_a_key_of_its_own(host, foreign, tmp_path):
    key = tmp_path / "key"
    key.write_text(KEY)
    options = ("-o", "encryption=on", "-o", "keyformat=hex", "-o", f"keylocation=file://{key}")
    run("zfs", "create", "-o", "canmount=noauto", *options, f"{foreign}/own")
    run("zfs", "create", "-o", "canmount=noauto", "-o", "refquota=64M", f"{foreign}/own/acme")
    name = f"{foreign}/own/acme"
    assert f"'{name}' has the key of '{foreign}/own'" in adopt(host, name, status=1)
    run("zfs", "change-key", "-o", "keyformat=hex", "-o", f"keylocation=file://{key}", name)
    adopt(host, name)
    made = host.dataset("acme")
    assert get(made, "encryptionroot") == made and get(made, "keystatus") == "unavailable"
    volume = Volume(host, "acme", size=64 * MIB)
    volume.secrets = {"encryption_key": KEY}
    up(volume)
    volume.down()
    device = make_zvol(f"{foreign}/zvol", *options)
    run("mkfs.ext4", "-q", device)
    # udev may still have the device open.
    unload = ["zfs", "unload-key", f"{foreign}/zvol"]
    wait_for(lambda: not subprocess.run(unload, check=False).returncode, "the key is unloaded")
    assert f"run 'zfs load-key {foreign}/zvol'" in adopt(host, f"{foreign}/zvol", status=1)
