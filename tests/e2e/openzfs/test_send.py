# SPDX-License-Identifier: MPL-2.0
"""zcsi send on OpenZFS: encrypted volumes without their key, and volumes on a zvol."""
import os
import subprocess
from pathlib import Path

from client import MIB
from daemon import BUILD
from host import get, run, Volume
from zvols import zvol

KEY = "0123456789abcdef" * 4


def send(host, path, *args):
    with open(path, "wb") as file:
        subprocess.run([BUILD / "zcsi", "--agent", f"unix://{host.agent_socket}", "send", *args],
                       stdout=file, check=True)


def receive(path, dataset):
    with open(path, "rb") as file:
        run("zfs", "receive", "-u", dataset, stdin=file)


def test_an_encrypted_volume_is_sent_without_its_key(host, tmp_path):
    volume = Volume(host, "data")
    volume.secrets = {"encryption_key": KEY}
    volume.create(parameters={"zfs.encryption": "aes-256-gcm"})
    for step in (volume.attach, volume.stage, volume.publish):
        step()
    text = os.urandom(MIB)
    Path(volume.target, "data").write_bytes(text)
    host.agent.SnapshotDataset(id="data", name="one")
    volume.down()
    assert get(host.dataset("data"), "keystatus") == "unavailable"
    send(host, tmp_path / "stream", "data@one")
    copy = host.dataset("_copy")
    receive(tmp_path / "stream", copy)
    assert get(copy, "encryptionroot") == copy
    run("zfs", "load-key", "-L", "prompt", copy, input=KEY)
    folder = tmp_path / "mounted"
    folder.mkdir()
    run("mount", "-t", "zfs", "-o", "ro,zfsutil", copy, folder)
    assert (folder / "data").read_bytes() == text
    run("umount", folder)


def test_a_zvol_is_sent(host, tmp_path):
    volume = zvol(host, "data", "block")
    volume.create()
    for name in ("one", "two"):
        host.agent.SnapshotDataset(id="data", name=name)
    copy = host.dataset("_copy")
    send(host, tmp_path / "whole", "data@one")
    receive(tmp_path / "whole", copy)
    send(host, tmp_path / "more", "--from", "data@one", "data@two")
    estimate = host.agent.EstimateSend(snapshot_id="data@two", from_snapshot_id="data@one").size
    assert 0 < estimate < 2 * (tmp_path / "more").stat().st_size
    receive(tmp_path / "more", copy)
    for snapshot in host.agent.ListDatasetSnapshots(dataset_id="data").snapshots:
        _, leaf = snapshot.zfs_name.split("@")
        assert get(f"{copy}@{leaf}", "guid") == get(snapshot.zfs_name, "guid")
