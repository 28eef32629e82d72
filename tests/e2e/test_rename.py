# SPDX-License-Identifier: MPL-2.0
"""`zcsi rename`: a volume and its snapshots get another name, and none that anything else has."""
import os

import grpc
import pytest

from client import refused
from crash.cases import claim_name
from daemon import wait_for
from host import get, run, Volume
import snapshots
from snapshots import drop, restore, take, trashed
from test_cli import rows, zcsi

CODE = grpc.StatusCode


def rename(host, new="fresh", *args, old="data", **kwargs):
    return dict(rows(zcsi(host, "rename", old, new, "-Hp", *args, **kwargs)))


def refusal(host, new="fresh", old="data", **kwargs):
    return zcsi(host, "rename", old, new, status=1, **kwargs)


def up(volume):
    for step in (volume.attach, volume.stage, volume.publish):
        step()


def write(volume, text):
    up(volume)
    with open(f"{volume.target}/file", "w", encoding="ascii") as file:
        file.write(text)
    volume.down()


def read(volume):
    up(volume)
    with open(f"{volume.target}/file", encoding="ascii") as file:
        found = file.read()
    volume.down()
    return found


def test_a_volume_is_found_under_its_new_name_alone(host, volume, dataset):
    volume.create(parameters={"zfs.compression": "zle"})
    write(volume, "kept")
    guid = get(dataset, "guid")
    host.controller_daemon.kill()
    shown = rename(host, "a new [0]")
    assert (shown["volume"], shown["node"], shown["was"], shown["state"]) == (
        "a new [0]", "n1", "data", "renamed")
    assert 'nomad volume deregister ID' in shown["type"]
    assert 'external_id = "a new [0]"' in shown["type"]
    host.restart(host.controller_daemon)
    assert host.ids() == ["a new [0]"]
    renamed = Volume(host, "a new [0]")
    assert renamed.create(parameters={"zfs.compression": "zle"}).volume.volume_id == renamed.id
    assert renamed.record().guid == int(guid)
    assert get(renamed.record().name, "zcsi:volume") == "a_20new_20_5B0_5D"
    assert read(renamed) == "kept"
    with refused(CODE.NOT_FOUND):
        volume.attach()
    volume.create()
    assert host.ids() == ["a new [0]", "data"]


def test_ids_of_snapshots_have_the_new_name(host, volume, dataset):
    volume.create()
    write(volume, "at s")
    take(volume)
    host.agent.SnapshotGroup(group="g", ids=["data"])
    run("zfs", "snapshot", f"{dataset}@by-hand")
    host.read_again()
    ids = ["fresh@by-hand", "fresh@g_g", "fresh@s"]
    rename(host)
    assert snapshots.listed(host) == ids
    host.read_again()
    assert snapshots.listed(host) == snapshots.listed(host, source_volume_id="fresh") == ids
    assert take(Volume(host, "fresh")).snapshot_id == "fresh@s"
    assert [each.id for each in host.agent.GetSnapshotGroup(group="g").snapshots] == ["fresh@g_g"]
    copy = restore(host, "fresh@s")
    assert read(copy) == "at s"
    copy.delete()
    drop(host, "fresh@s")
    assert snapshots.listed(host) == ids[:2]


def test_a_clone_and_its_source_stay_what_they_are(host, volume):
    volume.create()
    write(volume, "both")
    take(volume)
    copy = restore(host, "data@s")
    clone = snapshots.clone(volume, "second")
    for old, new in (("data", "a"), ("copy", "b"), ("second", "c")):
        rename(host, new, old=old)
    assert host.ids() == ["a", "b", "c"]
    for name in host.ids():
        assert read(Volume(host, name)) == "both"
    assert Volume(host, "b").create(
        **snapshots.of_snapshot("data@s")).volume.volume_id == "b"
    for name in ("c", "b"):
        Volume(host, name).delete()
    drop(host, "a@s")
    Volume(host, "a").delete()
    assert host.ids() == [] and trashed(host) == []
    assert copy.id == "copy" and clone.id == "second"


def test_a_repeated_rename_is_no_error(host, volume):
    volume.create()
    assert rename(host)["state"] == "renamed"
    assert rename(host)["state"] == "renamed already"
    assert rename(host, "fresh", "--dry-run")["state"] == "renamed already"
    assert "'none' does not exist" in refusal(host, old="none")
    assert rename(host, "data", old="fresh")["state"] == "renamed"
    assert rename(host, "data", old="fresh")["state"] == "renamed already"


def test_a_dry_run_changes_nothing(host, volume):
    volume.create()
    before = host.state()
    assert rename(host, "fresh", "--dry-run")["state"] == "would be renamed"
    assert host.state() == before and host.ids() == ["data"]
    assert "mounted" in refusal_while_staged(host, volume)


def refusal_while_staged(host, volume):
    volume.stage()
    text = refusal(host)
    assert zcsi(host, "rename", "data", "fresh", "--dry-run", status=1) == text
    volume.unstage()
    return text


def test_a_volume_in_use_keeps_its_name(host, volume):
    volume.create()
    volume.attach()
    assert "zcsi unpublish data n1" in refusal(host)
    volume.stage()
    run("zfs", "set", "zcsi:published=-", host.dataset("data"))
    host.read_again()
    assert "it is mounted at" in refusal(host)
    assert os.path.ismount(volume.staging)
    volume.unstage()
    assert rename(host)["state"] == "renamed"


def test_copies_and_children_prevent_a_rename(host, volume, dataset):
    volume.create()
    run("zfs", "set", "zcsi:members=00112233aabbccdd:300:n1,n2", dataset)
    host.read_again()
    assert "zcsi copy drop data NODE" in refusal(host)
    run("zfs", "inherit", "zcsi:members", dataset)
    run("zfs", "create", f"{dataset}/below")
    host.read_again()
    assert "1 datasets are below it" in refusal(host)
    run("zfs", "destroy", f"{dataset}/below")
    wait_for(lambda: rename(host)["state"] == "renamed", "the volume is renamed")


@pytest.mark.parametrize("new, said", [
    ("data", "has that name"), ("a\x07b", "control character"), ("", "NEW"),
    ("n" * 129, "128")])
def test_a_wrong_name_is_refused(host, volume, new, said):
    volume.create()
    assert said in refusal(host, new)
    assert host.ids() == ["data"]


def test_a_name_that_is_taken_is_not_given_away(host, other, volume):
    volume.create()
    both = [f"unix://{other.agent_socket}"]
    other.agent.CreateDataset(id="away", size=volume.size)
    assert "volume 'away' exists on node 'n2'" in refusal(host, "away", agents=both)
    other.agent.SnapshotDataset(id="away", name="s")
    other.agent.DestroyDataset(id="away")
    assert "still has the snapshot 'away@s'" in refusal(host, "away", agents=both)
    other.node_daemon.kill()
    assert "all agents must answer" in refusal(host, "fresh", agents=both)
    assert host.ids() == ["data"]


def test_a_name_in_a_trash_is_not_given_away(new_host):
    host = new_host(node_args=["--trash-ttl", 100000]).start()
    for name in ("data", "fresh"):
        Volume(host, name).create()
    Volume(host, "fresh").delete()
    assert "zcsi trash empty fresh" in refusal(host)
    zcsi(host, "trash", "empty", "fresh", "--destroy", "1")
    assert rename(host)["state"] == "renamed"
    Volume(host, "fresh").delete()
    zcsi(host, "trash", "restore", "fresh")
    assert host.ids() == ["fresh"]


def test_a_name_that_was_received_is_not_given_away(host, volume):
    volume.create()
    run("zfs", "create", "-p", host.dataset("_received/fresh"))
    run("zfs", "snapshot", host.dataset("_received/fresh@one"))
    assert "zcsi adopt fresh" in refusal(host)
    assert host.ids() == ["data"]


def test_a_dataset_that_is_no_volume_is_in_the_way(host, volume):
    """ZFS refuses the last step, and the volume stays what it was."""
    volume.create()
    take(volume)
    run("zfs", "create", host.dataset("fresh"))
    assert "not renamed" in refusal(host)
    assert host.ids() == ["data"] and snapshots.listed(host) == ["data@s"]
    assert get(host.dataset("data"), "zcsi:volume") == "data"
    host.read_again()
    assert host.ids() == ["data"] and snapshots.listed(host) == ["data@s"]


def test_a_name_too_long_for_a_snapshot_is_refused(host, volume, dataset):
    volume.create()
    leaf = "s" * (255 - len(dataset) - 1)
    run("zfs", "snapshot", f"{dataset}@{leaf}")
    assert "choose a shorter one" in refusal(host, "longer-than-data")
    assert rename(host, "dat")["state"] == "renamed"


def test_both_ids_are_read_as_the_one_of_the_dataset(host, volume, dataset):
    """As a crash between two steps leaves it. The record of the other id goes after a scan."""
    volume.create()
    take(volume)
    for name, given in ((dataset, "data,fresh"), (dataset, "old,data")):
        run("zfs", "set", f"zcsi:volume={given}", name)
        host.read_again()
        assert host.ids() == ["data"] and snapshots.listed(host) == ["data@s"]
        wait_for(lambda: get(dataset, "zcsi:volume") == "data", "the rename is ended")


def test_a_claim_is_needed(host, volume):
    volume.create()
    with refused(CODE.INVALID_ARGUMENT, naming="claim"):
        host.agent.RenameDataset(id="data", new_id="fresh")
    with refused(CODE.ABORTED):
        host.agent.RenameDataset(id="data", new_id="fresh", claim=5)
    assert host.ids() == ["data"]


def test_the_new_name_is_given_to_no_other_volume_meanwhile(gated, gate):
    """A creation of this name waits for the end of the rename, and finds the volume."""
    Volume(gated, "data").create()
    claim = claim_name(gated.agent, 1, "fresh")
    gate.hold(" rename ")
    renaming = gated.agent.RenameDataset.future(id="data", new_id="fresh", claim=claim)
    gate.arrived()
    assert gated.agent.GetDataset(id="fresh", claim=claim + 5).promised == claim
    creating = Volume(gated, "fresh").start_create()
    resizing = gated.agent.ResizeDataset.future(id="data", size=1)
    gate.open()
    assert renaming.result().dataset.id == "fresh"
    assert creating.result().volume.volume_id == "fresh"
    assert resizing.code() == CODE.NOT_FOUND
    assert gated.ids() == ["fresh"]
