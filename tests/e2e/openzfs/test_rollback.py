# SPDX-License-Identifier: MPL-2.0
"""zcsi rollback: what it brings back, what it keeps, and what it refuses."""
from pathlib import Path

import grpc
import pytest

from client import MIB, PATIENCE, size_of
from host import get, run, Volume
from snapshots import listed, restore, take
from test_cli import rows, zcsi
from zvols import zvol

SLOWLY = ("--timeout", str(10 * PATIENCE))
SIZES = {"zfs": 8 * MIB, "ext4": 32 * MIB, "block": 32 * MIB}


def up(volume):
    for step in (volume.attach, volume.stage, volume.publish):
        step()


def write(volume, text):
    """Use the volume, write the text to it, and end the use."""
    up(volume)
    place = Path(volume.target)
    place = place / "note" if place.is_dir() else place
    with open(place, "r+b" if place.exists() else "wb") as file:
        file.write(text.encode())
    volume.down()


def read(volume):
    up(volume)
    place = Path(volume.target)
    with open(place / "note" if place.is_dir() else place, "rb") as file:
        found = file.read(8).decode()
    volume.down()
    return found


def roll_back(host, snapshot, *args, **kwargs):
    return dict(rows(zcsi(host, "rollback", "data", snapshot, "-Hp", *SLOWLY, *args, **kwargs)))


def refusal(host, snapshot, volume="data"):
    return zcsi(host, "rollback", volume, snapshot, *SLOWLY, status=1)


def made(host, kind, **fields):
    volume = Volume(host, "data") if kind == "zfs" else zvol(host, "data", kind, SIZES[kind])
    volume.create(**fields)
    return volume


@pytest.mark.parametrize("kind", SIZES)
def test_a_volume_goes_back_and_forth_and_loses_nothing(host, kind):
    volume = made(host, kind)
    for text in ("1-first-", "2-second", "3-third-"):
        write(volume, text)
        take(volume, text[2:].strip("-"))
    write(volume, "4-latest")
    host.controller_daemon.kill()

    back = roll_back(host, "data@first")
    assert back["state"] == "rolled back" and back["kept"].startswith("data@before-rollback-")
    assert roll_back(host, "data@first")["state"] == "was as in the snapshot already"
    host.restart(host.controller_daemon)
    host.wait_for_agent()
    ids = ["data@first", "data@second", "data@third", back["kept"]]
    assert sorted(listed(host)) == sorted(ids)
    assert get(host.dataset("data"), "origin") == "-"
    assert read(volume) == "1-first-"

    again = roll_back(host, back["kept"])
    assert again["state"] == "rolled back" and read(volume) == "4-latest"
    assert set(ids) <= set(listed(host))
    roll_back(host, "data@second")
    assert read(volume) == "2-second"
    copy = restore(host, "data@third", capacity_range=size_of(volume.size),
                   volume_capabilities=[volume.capability])
    copy.capability = volume.capability
    assert read(copy) == "3-third-"
    copy.delete()
    for snapshot in listed(host):
        zcsi(host, "snapshot", snapshot, "--drop")
    volume.delete()
    assert listed(host) == [] and host.ids() == []


def test_a_rollback_keeps_all_properties(host):
    volume = made(host, "zfs", parameters={"zfs.compression": "zle", "zfs.user.site:owner": "a b",
                                           "provisioning": "thick"})
    take(volume, "one")
    volume.expand(2 * SIZES["zfs"])
    before = host.controller.ControllerGetVolume(volume_id="data")
    names = ("compression", "site:owner", "refquota", "refreservation", "canmount", "mountpoint",
             "zcsi:parameters", "zcsi:volume")
    name = host.dataset("data")
    expected = [get(name, each) for each in names]
    take(volume, "two")
    roll_back(host, "data@one")
    assert [get(name, each) for each in names] == expected
    assert host.controller.ControllerGetVolume(volume_id="data") == before
    assert volume.create(parameters={"zfs.compression": "zle", "zfs.user.site:owner": "a b",
                                     "provisioning": "thick"}).volume.volume_id == "data"


def test_a_dry_run_changes_nothing(host):
    volume = made(host, "zfs")
    take(volume, "one")
    write(volume, "1-later-")
    before = host.state()
    assert "would be rolled back" in roll_back(host, "data@one", "--dry-run")["state"]
    assert host.state() == before and listed(host) == ["data@one"]
    assert read(volume) == "1-later-"


def test_a_volume_in_use_is_not_rolled_back(host):
    volume = made(host, "zfs")
    take(volume, "one")
    take(volume, "two")
    volume.attach()
    assert "attached to node" in refusal(host, "data@one")
    volume.stage()
    run("zfs", "set", "zcsi:published=-", host.dataset("data"))
    host.read_again()
    assert "mounted at" in refusal(host, "data@one")
    volume.unstage()
    run("zfs", "set", "zcsi:members=00112233aabbccdd:300:n1,n2", host.dataset("data"))
    host.read_again()
    assert "zcsi copy drop data NODE" in refusal(host, "data@one")
    run("zfs", "inherit", "zcsi:members", host.dataset("data"))
    host.read_again()
    other = Volume(host, "other")
    other.secrets = {"encryption_key": "0f" * 32}
    other.create(parameters={"zfs.encryption": "on"})
    zcsi(host, "snapshot", "other", "secret", *SLOWLY)
    assert "it is encrypted" in refusal(host, "other@secret", "other")
    assert "is not of this volume" in refusal(host, "data@one", "other")
    assert "'data@none' does not exist" in refusal(host, "data@none")
    assert sorted(listed(host)) == ["data@one", "data@two", "other@secret"]
    assert roll_back(host, "data@one")["state"] == "rolled back"


@pytest.mark.parametrize("program", [" written ", " zcsi:deleted="])
def test_a_program_that_fails_leaves_no_clone(new_host, gate, program):
    """The first one of these is killed: after the clone was made, and before it is the volume."""
    host = new_host(env=gate.env).start()
    volume = made(host, "zfs")
    write(volume, "1-first-")
    take(volume, "one")
    take(volume, "two")
    gate.hold(program + host.dataset("_trash/new-data") if "written" in program else program)
    call = host.agent.RollbackDataset.future(id="data", snapshot_id="data@one")
    gate.arrived()
    gate.kill()
    assert call.code() is grpc.StatusCode.UNAVAILABLE
    gate.open()
    assert host.leaves() == ["_trash", "data"]
    assert read(volume) == "1-first-"
    roll_back(host, "data@one")


def test_a_clone_of_the_volume_stays_in_use(host):
    """A clone of a later snapshot, and one of an earlier one, are mounted during the rollback."""
    volume = made(host, "zfs")
    copies = []
    for text in ("1-first-", "2-second"):
        write(volume, text)
        copies.append(restore(host, take(volume, text[2:].strip("-")).snapshot_id, text[0]))
    for copy in copies:
        up(copy)
    take(volume, "third")
    roll_back(host, "data@first")
    assert [Path(copy.target, "note").read_text() for copy in copies] == ["1-first-", "2-second"]
    assert read(volume) == "1-first-"
