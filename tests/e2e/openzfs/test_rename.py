# SPDX-License-Identifier: MPL-2.0
"""zcsi rename of zvols and of encrypted volumes, and beside copies and backups."""
import os

import pytest

from copies import create, in_use, write
from daemon import wait_for
from host import get, run, Volume
from snapshots import clone, listed, restore, take
from test_copies import KEY
from test_move import content, make, use
from zvols import device

PARAMETERS = {"plain": {}, "encrypted": {"zfs.encryption": "on"}}


@pytest.mark.parametrize("kind, secret", [
    ("zfs", "encrypted"), ("ext4", "plain"), ("ext4", "encrypted"), ("xfs", "plain")])
def test_a_volume_has_its_data_under_the_new_name(pair, kind, secret):
    host = pair.owner
    volume = make(host, kind)
    volume.secrets = {"encryption_key": KEY} if secret == "encrypted" else {}
    create(volume, PARAMETERS[secret])
    use(host, volume)
    write(volume, "one")
    os.sync()
    wanted = content(volume)
    volume.down()
    take(volume)
    pair.zcsi("rename", "data", "fresh")
    renamed = Volume(host, "fresh", size=volume.size)
    renamed.capability, renamed.secrets = volume.capability, volume.secrets
    assert create(renamed, PARAMETERS[secret]).record().name == host.dataset("fresh")
    assert listed(host) == ["fresh@s"]
    if secret == "encrypted":
        assert get(host.dataset("fresh"), "encryptionroot") == host.dataset("fresh")
        assert get(host.dataset("fresh"), "keystatus") == "unavailable"
    use(host, renamed)
    assert content(renamed) == wanted
    # ZFS clones an encrypted zvol only while its key is loaded.
    restored = restore(host, "fresh@s", "old", capacity_range={"required_bytes": volume.size},
                       volume_capabilities=[volume.capability], secrets=volume.secrets)
    restored.capability, restored.secrets = volume.capability, volume.secrets
    use(host, restored)
    assert content(restored) == wanted
    restored.down()
    renamed.down()


def test_a_device_that_is_open_keeps_its_name(pair):
    volume = make(pair.owner, "block")
    create(volume)
    wait_for(device(pair.owner).exists, "the zvol has a device")
    with open(device(pair.owner), "rb"):
        assert "is open in" in pair.zcsi("rename", "data", "fresh", status=1)
    pair.zcsi("rename", "data", "fresh")
    wait_for(device(pair.owner, "fresh").exists, "the zvol has a device of the new name")
    assert not device(pair.owner).exists()


def test_a_clone_with_the_key_of_another_volume_keeps_its_name(pair):
    """ZFS would refuse it. The other volume is renamed, and the clone is used with its key."""
    host = pair.owner
    volume = make(host)
    volume.secrets = {"encryption_key": KEY}
    create(volume, PARAMETERS["encrypted"])
    copy = clone(volume, volume_capabilities=[volume.capability], secrets=volume.secrets,
                 capacity_range={"required_bytes": volume.size})
    copy.secrets = volume.secrets
    assert "encrypted clone" in pair.zcsi("rename", "copy", "fresh", status=1)
    pair.zcsi("rename", "data", "fresh")
    assert get(host.dataset("copy"), "encryptionroot") == host.dataset("fresh")
    use(host, copy)
    copy.down()
    assert sorted(host.ids()) == ["copy", "fresh"]


def test_a_volume_with_copies_or_backups_is_not_renamed(pair):
    """The new name is none of a copy or of a backup either, also after their volume is gone."""
    with in_use(pair) as volume:
        write(volume, "one")
        pair.add()
    assert "zcsi copy drop data NODE" in pair.zcsi("rename", "data", "fresh", status=1)
    pair.zcsi("copy", "drop", "data", "n2", "--destroy", "1")
    pair.zcsi("backup", "add", "data", "n2")
    name = pair.owner.dataset("data")
    assert "zcsi backup drop data n2" in pair.zcsi("rename", "data", "fresh", status=1)
    run("zfs", "destroy", f"{name}#_backup-n2")
    assert "zcsi backup drop data n2" in pair.zcsi("rename", "data", "fresh", status=1)
    other = create(Volume(pair.owner, "other"))
    volume.delete()
    wait_for(lambda: "data" not in pair.owner.leaves(), "the volume is gone")
    assert "has a backup of 'data'" in pair.zcsi("rename", "other", "data", status=1)
    pair.zcsi("backup", "drop", "data", "n2", "--destroy", "1")
    pair.zcsi("rename", "other", "data")
    assert pair.owner.ids() == ["data"] and other.id == "other"


def test_a_name_of_a_copy_is_not_given_away(pair):
    """The owner of the copy's volume has lost it, and does not know of the copy any more."""
    with in_use(pair) as volume:
        write(volume, "one")
        pair.add()
    create(Volume(pair.owner, "other"))
    with pair.owner.frozen():
        run("zfs", "destroy", "-r", pair.owner.dataset("data"))
    pair.owner.read_again()
    assert pair.owner.ids() == ["other"]
    text = pair.zcsi("rename", "other", "data", status=1)
    assert "has a copy of a volume 'data'" in text
    pair.zcsi("rename", "other", "fresh")
    assert pair.owner.ids() == ["fresh"]
