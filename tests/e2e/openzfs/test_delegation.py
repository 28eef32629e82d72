# SPDX-License-Identifier: MPL-2.0
"""zcsi-node with --zfs-user, a user who has the permissions that --check lists, and no other."""
import re
import subprocess
from pathlib import Path

import grpc
import pytest

from client import MIB, refused
from daemon import BUILD, wait_for
from host import get, run, Volume
from zvols import read, write, zvol

USER = ("--zfs-user", "nobody")
KEY = "0123456789abcdef" * 4


def remedies(host):
    """Return the `zfs allow` commands that --check proposes."""
    done = subprocess.run([BUILD / "zcsi-node", "--check", "--dataset", host.parent, *USER],
                          capture_output=True, text=True)
    return re.findall("'(zfs allow -u .*?)'", done.stdout)


@pytest.fixture
def stranger(new_host):
    """A host whose --zfs-user has no permission on the pool."""
    return new_host(node_args=USER).start()


@pytest.fixture
def host(stranger):
    for command in remedies(stranger):
        run(*command.split())
    return stranger


def test_the_permissions_that_check_lists_are_sufficient(stranger):
    told = remedies(stranger)
    assert f"zfs allow -u nobody create {stranger.parent}" in told
    with refused(grpc.StatusCode.INTERNAL, naming=("permission denied", "zcsi-node --check")):
        Volume(stranger, "data").create()
    assert stranger.leaves() == []
    for command in told:
        run(*command.split())
    assert remedies(stranger) == []


def test_a_filesystem_lives(host):
    volume = Volume(host, "data")
    volume.create(parameters={"provisioning": "thick", "zfs.compression": "lz4", "owner": "1000",
                              "zfs.user.com.example:tool": "yes", "zfs.recordsize": "16K"})
    for step in (volume.attach, volume.stage, volume.publish):
        step()
    assert Path(volume.target).stat().st_uid == 1000
    Path(volume.target, "file").write_text("kept")
    volume.expand(2 * volume.size)
    assert get(host.dataset("data"), "refreservation") == str(2 * volume.size)
    snapshot = host.controller.CreateSnapshot(source_volume_id="data", name="s").snapshot
    copy = Volume(host, "copy", 2 * volume.size)
    copy.create(volume_content_source={"snapshot": {"snapshot_id": snapshot.snapshot_id}})
    volume.down().delete()
    for step in (copy.attach, copy.stage, copy.publish):
        step()
    assert Path(copy.target, "file").read_text() == "kept"
    copy.down().delete()
    host.controller.DeleteSnapshot(snapshot_id=snapshot.snapshot_id)
    assert host.ids() == []


def test_a_device_lives(host):
    volume = zvol(host, "data", "block").up()
    write(volume.target, b"kept")
    volume.expand(64 * MIB)
    assert read(volume.target, 4) == b"kept"
    volume.down().delete()
    assert host.leaves() == []


def test_the_key_of_an_encrypted_volume_is_loaded_and_unloaded(host):
    volume = Volume(host, "data")
    volume.secrets = {"encryption_key": KEY}
    volume.create(parameters={"zfs.encryption": "on"})
    for step in (volume.attach, volume.stage, volume.publish):
        step()
    Path(volume.target, "file").write_text("kept")
    volume.down()
    assert get(host.dataset("data"), "keystatus") == "unavailable"
    volume.delete()


def test_changes_by_others_are_found_by_the_next_scan(new_host):
    """Only root may run `zpool events`, so changes by others are found by the next scan."""
    host = new_host(node_args=(*USER, "--rescan", "1"))
    for command in remedies(host):
        run(*command.split())
    Volume(host.start(), "data").create()
    run("zfs", "destroy", host.dataset("data"))
    wait_for(lambda: host.ids() == [], "the volume is seen to be gone")
    assert not any("events" in argv for argv in host.node_daemon.runs())
