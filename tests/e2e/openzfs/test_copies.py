# SPDX-License-Identifier: MPL-2.0
"""Copies: a node keeps a copy of its volume on another node up to date, and zcsi reports their
state."""
import time
from pathlib import Path

import grpc
import pytest

from client import MIB, refused
from copies import create, in_use, own, RECEIVE, write
from daemon import wait_for
from host import get, run, Volume
from zvols import zvol

KEY = "0123456789abcdef" * 4


@pytest.fixture
def volume(pair):
    with in_use(pair) as made:
        yield made


def content(pair, tmp_path, leaf="data"):
    folder = tmp_path / "mounted"
    folder.mkdir(exist_ok=True)
    run("mount", "-t", "zfs", "-o", "ro", pair.replica(leaf), folder)
    try:
        return {path.name: path.read_bytes() for path in folder.iterdir()}
    finally:
        run("umount", folder)


def test_a_copy_follows_its_volume(pair, volume, tmp_path):
    write(volume, "one")
    pair.add()
    wait_for(pair.in_step, "the copy is in step")
    assert pair.copies() == [("data", "n1", "n2", "ok")]
    pair.owner.agent.SnapshotDataset(id="data", name="asked")
    write(volume, "two")
    pair.sync()
    wait_for(pair.in_step, "the copy is in step")
    wanted = {path.name: path.read_bytes() for path in Path(volume.target).iterdir()}
    assert content(pair, tmp_path) == wanted
    assert get(f"{pair.replica()}@asked", "zcsi:snapshot") == "asked"
    assert pair.owner.ids() == ["data"] and not pair.other.agent.ListDatasets().datasets
    [own] = [name for name in run("zfs", "list", "-Hd1", "-t", "snapshot", "-o", "name",
                                  pair.owner.dataset("data")).split() if "@_repl-" in name]
    assert get(f"{pair.owner.dataset('data')}#_repl-n2", "guid") == get(own, "guid")


def test_a_copy_is_pushed_without_a_command(pair, volume):
    """No `zcsi sync` is needed: the copy may be behind by at most ten seconds (every=10)."""
    pair.owner.agent.AddMember(id="data", node_id="n2", every=10)
    wait_for(pair.settled, "the copy is complete")
    write(volume, "more")
    wait_for(pair.in_step, "the copy has it", seconds=60)


def test_an_idle_volume_costs_one_program(pair, volume):
    """After the last push, only `zfs get written#...` runs, once for all copies that are due."""
    pair.owner.agent.AddMember(id="data", node_id="n2", every=10)
    wait_for(pair.settled, "the copy is complete")
    start = pair.owner.node_daemon.mark()
    def three_looks():
        words = [argv.split()[1] if "written#" not in argv else "look"
                 for argv in pair.owner.node_daemon.runs(start)]
        return [word for word in words if word in ("look", "send", "snapshot", "list")][-3:] == \
            ["look"] * 3
    wait_for(three_looks, "three looks one after the other", seconds=60)


def test_a_host_that_was_away_gets_what_it_missed(pair, volume):
    write(volume, "one")
    pair.add()
    pair.other.node_daemon.kill()
    write(volume, "two")
    said = pair.zcsi("sync", "data", status=1)
    assert "n2" in said
    pair.other.restart(pair.other.node_daemon)
    pair.sync()
    wait_for(pair.in_step, "the copy is in step")


def test_an_owner_that_was_killed_goes_on(pair, volume):
    write(volume, "one")
    pair.add()
    write(volume, "two")
    pair.owner.node_daemon.kill()
    pair.owner.restart(pair.owner.node_daemon)
    pair.sync()
    wait_for(pair.in_step, "the copy is in step")


def test_a_push_without_its_base_prints_the_remedy(pair, volume):
    """A push needs the bookmark or the snapshot of its base. Without both it fails, and zcsi prints
    the command that helps."""
    write(volume, "one")
    pair.add()
    name = pair.owner.dataset("data")
    run("zfs", "destroy", f"{name}#_repl-n2")
    write(volume, "two")
    pair.sync()
    run("zfs", "destroy", f"{name}@%")
    write(volume, "three")
    pair.sync()
    wait_for(pair.in_step, "the copy is in step")
    run("zfs", "destroy", f"{name}@%")
    run("zfs", "destroy", f"{name}#_repl-n2")
    assert "zcsi copy drop data n2" in pair.zcsi("sync", "data", status=1)
    assert pair.zcsi("copies", status=3) is not None
    pair.zcsi("copy", "drop", "data", "n2", "--destroy", "1")
    pair.add()
    wait_for(pair.in_step, "the copy is in step")


def test_a_copy_that_is_dropped_leaves_nothing(pair, volume):
    pair.add()
    shown = pair.zcsi("copy", "drop", "data", "n2", "--dry-run", "-Hp").split("\t")
    assert shown[:3] == ["data", "n1", "n2"] and len(pair.copies()) == 1
    assert pair.zcsi("copy", "drop", "data", "n3", "--dry-run", "-Hp") == ""
    line = "zcsi copy drop data n2 --destroy 1"
    assert f"to destroy the only complete copy for good, run '{line}'" in pair.zcsi(
        "copy", "drop", "data", "n2", status=3)
    assert len(pair.copies()) == 1
    pair.zcsi(*line.split()[1:])
    assert pair.copies() == [] and get(pair.owner.dataset("data"), "zcsi:members") == "-"
    assert "_replica/data" not in pair.other.leaves()
    names = run("zfs", "list", "-Hd1", "-t", "all", "-o", "name", pair.owner.dataset("data"))
    assert names.split() == [pair.owner.dataset("data")]


def test_a_copy_on_a_node_that_is_gone_is_given_up(pair, volume):
    """The node returns nevertheless, with the copy that it had."""
    pair.add()
    assert "'zcsi copy drop data n2 --gone --destroy 1'" in pair.zcsi(
        "copy", "drop", "data", "n2", "--gone", status=3)
    pair.zcsi("copy", "drop", "data", "n2", "--gone", "--destroy", "1")
    assert "_replica/data" not in pair.other.leaves()
    pair.add()
    pair.other.node_daemon.kill()
    pair.zcsi("copy", "drop", "data", "n2", "--destroy", "1", status=1)
    pair.zcsi("copy", "drop", "data", "n2", "--gone")
    assert get(pair.owner.dataset("data"), "zcsi:members") == "-"
    assert own(pair.owner.dataset("data")) == []
    pair.other.restart(pair.other.node_daemon)
    assert "_replica/data" in pair.other.leaves()
    [copy] = pair.run("copies", "-Hp").stdout.splitlines()
    assert "no node that answers has a volume with this copy" in copy


def test_deletion_takes_the_copies_with_it(pair):
    volume = create(Volume(pair.owner, "data"))
    pair.add()
    volume.delete()
    assert pair.owner.ids() == []
    wait_for(lambda: "_replica/data" not in pair.other.leaves(), "the copy is gone")
    wait_for(lambda: pair.owner.leaves() == ["_trash"], "the volume is gone")
    assert pair.copies() == []


def test_a_new_volume_of_the_same_name_is_no_heir(pair):
    """The copy of a deleted volume never becomes a copy of a new volume with the same name."""
    volume = create(Volume(pair.owner, "data"))
    pair.add()
    pair.other.node_daemon.kill()
    pair.owner.agent.DestroyDataset(id="data")
    pair.owner.agent.CreateDataset(id="data", size=volume.size)
    pair.other.restart(pair.other.node_daemon)
    wait_for(lambda: "_replica/data" not in pair.other.leaves(), "the old copy is gone")
    pair.add()
    wait_for(pair.in_step, "the copy is in step")


def test_an_encrypted_volume_is_pushed_without_its_key(pair):
    volume = Volume(pair.owner, "data")
    volume.secrets = {"encryption_key": KEY}
    create(volume, {"zfs.encryption": "aes-256-gcm"})
    assert get(pair.owner.dataset("data"), "keystatus") == "unavailable"
    pair.add()
    wait_for(pair.in_step, "the copy is in step")
    assert get(pair.replica(), "encryptionroot") == pair.replica()


def test_a_grown_zvol_is_pushed(pair):
    volume = create(zvol(pair.owner, "data", "block"))
    pair.add()
    volume.expand(2 * volume.size)
    pair.sync()
    assert get(pair.replica(), "volsize") == str(2 * volume.size)


def test_a_push_keeps_to_its_bandwidth(pair, tmp_path):
    """With a limit of the bandwidth the whole stream arrives. The copy gets zcsi:push, so it keeps
    the limit if it becomes the volume."""
    volume = create(Volume(pair.owner, "data", size=64 * MIB), {"bandwidth": "1M"})
    for step in (volume.attach, volume.stage, volume.publish):
        step()
    write(volume, "one", 3 * MIB)
    assert get(pair.owner.dataset("data"), "zcsi:push") == f"bandwidth={MIB}"
    begun = time.monotonic()
    pair.zcsi("copy", "add", "data", "n2")
    pair.zcsi("sync", "data")
    assert time.monotonic() - begun > 2.5
    wait_for(pair.in_step, "the copy is in step")
    assert content(pair, tmp_path) == {"one": Path(volume.target, "one").read_bytes()}
    assert get(pair.replica(), "zcsi:push") == f"bandwidth={MIB}"
    pair.owner.controller.ControllerModifyVolume(
        volume_id="data", mutable_parameters={"bandwidth": "none"})
    pair.sync()
    assert get(pair.owner.dataset("data"), "zcsi:push") == "-" == get(pair.replica(), "zcsi:push")
    volume.down()


def test_sync_every_is_kept_without_a_copy(pair):
    """zcsi:push keeps sync_every before the first copy exists and after the last one was
    dropped."""
    name = pair.owner.dataset("data")
    create(Volume(pair.owner, "data"), {"sync_every": "20s", "bandwidth": "50M"})
    assert get(name, "zcsi:push") == f"bandwidth={50 * MIB},every=20"
    pair.add()
    assert get(name, "zcsi:members").endswith(":20:n1,n2")
    assert get(name, "zcsi:push") == f"bandwidth={50 * MIB}" == get(pair.replica(), "zcsi:push")
    pair.zcsi("copy", "drop", "data", "n2", "--destroy", "1")
    assert get(name, "zcsi:push") == f"bandwidth={50 * MIB},every=20"
    pair.owner.controller.ControllerModifyVolume(
        volume_id="data", mutable_parameters={"sync_every": "30s", "bandwidth": "none"})
    assert get(name, "zcsi:push") == "every=30"
    pair.add()
    assert get(name, "zcsi:members").endswith(":30:n1,n2")


def sends(daemon, start):
    return [argv for argv in daemon.runs(start) if argv.split()[1] == "send"]


def test_a_pause_outlives_the_daemon(pair, volume):
    write(volume, "one")
    pair.owner.agent.AddMember(id="data", node_id="n2", every=10)
    wait_for(pair.settled, "the copy is complete")
    pair.zcsi("pause", "data")
    pair.zcsi("pause", "data")
    daemon = pair.owner.node_daemon
    daemon.kill()
    start = daemon.mark()
    pair.owner.restart(daemon)
    write(volume, "two")
    assert "zcsi resume data" in pair.zcsi("sync", "data", status=1)
    def behind():
        [row] = [line.split("\t") for line in pair.run("copies", "-Hp").stdout.splitlines()]
        assert row[6] == "paused"
        return row[4] != "-" and int(row[4]) > 30
    wait_for(behind, "the lag is known, and three times what it may be", seconds=60)
    assert sends(daemon, start) == []
    [row] = pair.run("status", "-Hp").stdout.splitlines()
    assert row.endswith("copy on n2: paused")
    pair.zcsi("resume", "data")
    pair.zcsi("resume", "data")
    pair.sync()
    wait_for(pair.in_step, "the copy is in step")


def test_the_copies_of_a_paused_volume_are_dropped_with_it(pair):
    volume = create(Volume(pair.owner, "data"))
    assert "zcsi copy add data" in pair.zcsi("pause", "data", status=1)
    pair.add()
    pair.zcsi("pause", "data")
    pair.zcsi("copy", "drop", "data", "n2", "--destroy", "1")
    pair.add()
    pair.zcsi("pause", "data")
    volume.delete()
    wait_for(lambda: "_replica/data" not in pair.other.leaves(), "the copy is gone")
    wait_for(lambda: pair.owner.leaves() == ["_trash"], "the volume is gone")


def test_wrong_copy_commands_are_refused(pair, volume):
    assert "name another node" in pair.zcsi("copy", "add", "data", "n1", status=1)
    assert "'n7'" in pair.zcsi("copy", "add", "data", "n7", status=1)
    assert "does not exist" in pair.zcsi("copy", "add", "none", "n2", status=1)
    assert "is not add or drop" in pair.zcsi("copy", "take", "data", "n2", status=1)
    assert "has no copies" in pair.zcsi("sync", "data", status=1)
    pair.other.agent.CreateDataset(id="data", size=8 * MIB)
    assert pair.zcsi("copy", "add", "data", "n2", status=1)


def test_a_volume_is_created_with_a_copy(pair):
    """The parameter replicas: CreateVolume does not wait for the copy."""
    create(Volume(pair.owner, "data"), {"replicas": "2", "sync_every": "10s"})
    wait_for(pair.settled, "the copy is complete")
    assert pair.copies() == [("data", "n1", "n2", "ok")]
    [row] = pair.zcsi("status", "-Hp").splitlines()
    assert row.split("\t")[5].startswith("n2 (") and row.split("\t")[6] == "ok"
    create(Volume(pair.owner, "data"), {"replicas": "2", "sync_every": "10s"})
    with refused(grpc.StatusCode.ALREADY_EXISTS, naming="replicas"):
        create(Volume(pair.owner, "data"))
    with refused(grpc.StatusCode.RESOURCE_EXHAUSTED, naming="3 nodes"):
        create(Volume(pair.owner, "more"), {"replicas": "3"})


def test_a_volume_gets_a_copy_by_a_modification(pair, volume):
    def change(**values):
        pair.owner.controller.ControllerModifyVolume(volume_id="data", mutable_parameters=values)
    write(volume, "one")
    for _ in range(2):
        change(replicas="2", sync_every="20s")
    wait_for(pair.settled, "the copy is complete")
    assert pair.copies() == [("data", "n1", "n2", "ok")]
    members = get(pair.owner.dataset("data"), "zcsi:members")
    assert members.endswith(":20:n1,n2")
    with refused(grpc.StatusCode.FAILED_PRECONDITION, naming="zcsi copy drop data NODE"):
        change(replicas="1")
    with refused(grpc.StatusCode.RESOURCE_EXHAUSTED, naming="'n2': it has a copy"):
        change(replicas="3")
    assert get(pair.owner.dataset("data"), "zcsi:members") == members
    change(**{"sync_every": "10s", "zfs.atime": "off"})
    assert get(pair.owner.dataset("data"), "zcsi:members") == members.replace(":20:", ":10:")
    pair.other.node_daemon.kill()
    pair.zcsi("copy", "drop", "data", "n2", "--destroy", "1", status=1)
    pair.other.restart(pair.other.node_daemon)
    pair.zcsi("copy", "drop", "data", "n2", "--destroy", "1")
    change(replicas="1")


def health(pair):
    """Return the reasons and messages of the volume's health, [] if it is healthy. Return None if
    the call is UNAVAILABLE: while n2 is down the controller waits for n1 a second only, which may
    be too short on a slow host."""
    try:
        said = pair.owner.controller.ControllerGetVolumeHealth(volume_id="data").volume_health
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.UNAVAILABLE, error
        return None
    return [text for entry in said.health_statuses for text in (entry.reason, entry.message)]


def says(pair, reason, *words):
    """Wait until the health of the volume has this reason, and its message these words. It may have
    no other reason."""
    def look():
        said = health(pair)
        assert not said or said[0] == reason, said
        return said and all(word in said[1] for word in words)
    wait_for(look, f"the health is {reason}, {words}", seconds=60)


def test_health_reports_a_lagging_copy(pair, volume):
    """An owner that was restarted still knows that the copy was complete once, so the reason stays
    Lagging."""
    pair.owner.agent.AddMember(id="data", node_id="n2", every=10)
    wait_for(pair.settled, "the copy is complete")
    wait_for(lambda: health(pair) == [], "the volume is healthy")
    pair.other.node_daemon.kill()
    write(volume, "one")
    says(pair, "Lagging", "'n2'", "10 s are allowed", "zcsi sync data")
    pair.owner.node_daemon.kill()
    pair.owner.node_daemon.close()
    pair.owner.start_node()
    says(pair, "Lagging", "'n2'", "zcsi sync data")
    pair.other.restart(pair.other.node_daemon)
    wait_for(lambda: health(pair) == [], "the copy is up to date", seconds=60)


def test_health_reports_that_no_copy_is_complete(pair):
    pair.other.node_daemon.kill()
    pair.owner.agent.CreateDataset(id="data", size=8 * MIB, members=["n1", "n2"], sync_every=10)
    says(pair, "NoReplica", "only node 'n1' has all data", "'n2'", "zcsi sync data")
    pair.other.restart(pair.other.node_daemon)
    wait_for(lambda: health(pair) == [], "the copy is complete", seconds=60)


def test_health_does_not_wait_for_a_push(new_pair, gate):
    """The health calls answer although zfs receive, held by the gate, reads nothing."""
    with new_pair(other_env=gate.env) as pair:
        create(Volume(pair.owner, "data"))
        gate.hold(RECEIVE)
        pair.owner.agent.AddMember(id="data", node_id="n2")
        gate.arrived()
        says(pair, "NoReplica", "node 'n2': a push runs")
        assert pair.owner.controller.ListVolumes().entries[0].status.volume_condition.abnormal
        gate.open()
        wait_for(lambda: health(pair) == [], "the copy is complete")


def test_the_copy_of_a_clone_records_its_source(pair):
    create(Volume(pair.owner, "data"))
    twin = Volume(pair.owner, "twin")
    twin.create(volume_content_source={"volume": {"volume_id": "data"}})
    pair.add("twin")
    source = get(pair.owner.dataset("twin"), "zcsi:source")
    assert source != "-" and get(pair.replica("twin"), "zcsi:source") == source
