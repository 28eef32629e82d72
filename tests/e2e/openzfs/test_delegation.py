# SPDX-License-Identifier: MPL-2.0
"""zfs as a user to whom `zfs allow` has given what --check names, and nothing else."""
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
    """The commands that --check says are to be given, without what they are for."""
    done = subprocess.run([BUILD / "zcsi-node", "--check", "--dataset", host.parent, *USER],
                          capture_output=True, text=True)
    return re.findall("'(zfs allow -u .*?)'", done.stdout)


@pytest.fixture
def stranger(new_host):
    """A host whose user has been allowed nothing."""
    return new_host(node_args=USER).start()


@pytest.fixture
def host(stranger):
    for command in remedies(stranger):
        run(*command.split())
    return stranger


def test_what_check_says_is_to_be_allowed(stranger):
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


def test_an_encrypted_volume_opens_and_closes(host):
    volume = Volume(host, "data")
    volume.secrets = {"encryption_key": KEY}
    volume.create(parameters={"zfs.encryption": "on"})
    for step in (volume.attach, volume.stage, volume.publish):
        step()
    Path(volume.target, "file").write_text("kept")
    volume.down()
    assert get(host.dataset("data"), "keystatus") == "unavailable"
    volume.delete()


def test_what_others_change_is_seen_at_the_next_look(new_host):
    """`zpool events` is root's."""
    host = new_host(node_args=(*USER, "--rescan", "1"))
    for command in remedies(host):
        run(*command.split())
    Volume(host.start(), "data").create()
    run("zfs", "destroy", host.dataset("data"))
    wait_for(lambda: host.ids() == [], "the volume is seen to be gone")
    assert not any("events" in argv for argv in host.node_daemon.runs())
