# SPDX-License-Identifier: MPL-2.0
"""`zcsi restore`: a snapshot becomes a new volume, which CreateVolume finds as its own."""
from pathlib import Path

from host import get, KERNEL_ZFS, SIZE, Volume
from snapshots import listed, restore, take
from test_cli import rows, zcsi

PARAMETERS = {"zfs.compression": "zle", "zfs.user.site:owner": "a"}


def test_a_snapshot_becomes_a_new_volume(host, volume):
    volume.create(parameters=PARAMETERS)
    for step in (volume.attach, volume.stage, volume.publish):
        step()
    file = Path(volume.target, "file")
    file.write_text("first")
    take(volume)
    file.write_text("second")
    shown = dict(rows(zcsi(host, "restore", "data@s", "--as", "copy", "-Hp")))
    assert shown == {"volume": "copy", "node": "n1", "size": str(SIZE), "made_from": "data@s",
                     "state": "depends on the snapshot until 'zcsi detach copy'"}
    assert file.read_text() == "second"
    volume.down()
    for name, value in (("compression", "zle"), ("site:owner", "a"), ("refquota", str(SIZE)),
                        ("zcsi:source", "snapshot_3Adata_40s")):
        assert get(host.dataset("copy"), name) == value
    copy = restore(host, "data@s", "copy", parameters=PARAMETERS)
    for step in (copy.attach, copy.stage, copy.publish):
        step()
    assert Path(copy.target, "file").read_text() == "first"
    copy.down()
    assert "'copy' exists" in zcsi(host, "restore", "data@s", "--as", "copy", status=1)
    detached = dict(rows(zcsi(host, "detach", "copy", "--dry-run", "-H"))) if KERNEL_ZFS else None
    assert not detached or detached["state"] == "would be copied"


def test_a_restore_without_a_name_names_the_rollback(host, volume):
    volume.create()
    take(volume)
    text = zcsi(host, "restore", "data@s", status=1)
    assert "by --as NAME" in text and "'zcsi rollback data data@s'" in text
    assert host.ids() == ["data"]


def test_all_hosts_have_to_answer(host, volume, tmp_path):
    volume.create()
    take(volume)
    down = [f"unix://{tmp_path}/none.sock"]
    text = zcsi(host, "restore", "data@s", "--as", "copy", agents=down, status=1)
    assert "all agents must answer" in text and host.ids() == ["data"]


def test_the_parameters_of_a_deleted_volume_are_not_known(new_host):
    host = new_host(node_args=["--trash-ttl", "100000"]).start()
    volume = Volume(host, "data")
    volume.create()
    take(volume)
    volume.delete()
    text = zcsi(host, "restore", "data@s", "--as", "copy", status=1)
    assert "run 'zcsi trash restore data' first" in text and listed(host) == ["data@s"]
    zcsi(host, "trash", "restore", "data")
    zcsi(host, "restore", "data@s", "--as", "copy")
    assert host.ids() == ["copy", "data"]
