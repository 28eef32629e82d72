# SPDX-License-Identifier: MPL-2.0
"""zcsi receive with OpenZFS: an encrypted stream keeps its key, and a zvol becomes a volume."""
import os
import subprocess
from pathlib import Path

from client import MIB, PATIENCE
from daemon import BUILD
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
