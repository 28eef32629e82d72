# SPDX-License-Identifier: MPL-2.0
"""A power cut: the last writes that a workload has synced are in the intent log of ZFS alone, until
the volume is mounted again. Nothing that is made of an unmounted volume leaves them behind."""
import subprocess
import time
from pathlib import Path

import grpc
import pytest

from client import MIB, refused
from copies import create
from daemon import wait_for
from host import get, run, Volume
from power_cut import power_cut, reboot, write_synced
from test_copies import KEY
from test_failover import look, lose, returned, take_over
from test_move import content, make, use

BOOT = Path("/proc/sys/kernel/random/boot_id")
KINDS = ["zfs", "ext4"]


def up(host, kind="zfs", parameters=()):
    volume = make(host, kind)
    volume.secrets = {"encryption_key": KEY} if parameters else {}
    use(host, create(volume, parameters))
    write_synced(volume, "before")
    return volume


def cut(pools, pair, kind="zfs", parameters=()):
    """Have a volume with a copy, and cut the power after it was written to. Return the volume."""
    volume = up(pair.owner, kind, parameters)
    pair.add()
    with power_cut(pools, pair.owner):
        write_synced(volume, "late")
    return volume


def boot(host, volume):
    """Start zcsi-node again, and end the publication as an orchestrator does that has given up the
    host's workloads."""
    host.start_node()
    host.wait_for_agent()
    volume.down()


def complete(volume):
    return sorted(content(volume)) == ["before", "late"]


def has_all(host, volume):
    """True if a volume, which is used for that, has all that was synced."""
    use(host, volume)
    found = complete(volume)
    volume.down()
    return found


def clone_of(host, snapshot):
    clone = Volume(host, f"of-{snapshot.replace('@', '-')}", size=64 * MIB)
    clone.create(volume_content_source={"snapshot": {"snapshot_id": snapshot}})
    return clone


def hide_the_claim(host):
    """Take a snapshot like those of zcsi. An import counts as written to what has a log."""
    run("zfs", "snapshot", f"{host.dataset('data')}@_repl-{time.time_ns() // 1000}")
    assert get(host.dataset("data"), "written") == "0"


def load_key(dataset):
    subprocess.run(["zfs", "load-key", dataset], input=KEY, text=True, check=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_move_takes_the_last_writes_along(pair, pools, kind):
    volume = cut(pools, pair, kind)
    boot(pair.owner, volume)
    pair.zcsi("move", "data", "n2")
    assert has_all(pair.other, make(pair.other, kind))


def test_a_push_takes_the_last_writes_along(pair, pools):
    """So the copy that takes over has them too, and the host that returns has nothing else."""
    volume = cut(pools, pair)
    boot(pair.owner, volume)
    pair.sync()
    lose(pair.owner)
    take_over(pair, "data")
    assert has_all(pair.other, Volume(pair.other, "data"))
    pair.owner.start_node()
    wait_for(lambda: returned(pair.owner), "the lost host has a copy", 60)
    assert not [leaf for leaf in pair.owner.leaves() if leaf.startswith("_diverged/")]


def test_a_host_that_returns_keeps_the_last_writes(pair, pools, tmp_path):
    cut(pools, pair)
    take_over(pair, "data")
    hide_the_claim(pair.owner)
    pair.owner.start_node()
    wait_for(lambda: returned(pair.owner), "the lost host has a copy", 60)
    assert look(pair, tmp_path / "look") == "acknowledged"


def test_a_host_that_returns_keeps_the_last_writes_to_a_zvol(pair, pools):
    """Here the import has replayed the log."""
    cut(pools, pair, "ext4")
    take_over(pair, "data")
    pair.owner.start_node()
    wait_for(lambda: returned(pair.owner), "the lost host has a copy", 60)
    assert "_diverged/data-0" in pair.owner.leaves()


@pytest.mark.parametrize("kind", KINDS)
def test_a_clean_boot_counts_as_nothing_written(pair, pools, kind):
    """ZFS counts the import as written to what was ever synced, and the mount that would replay the
    log too. The next push ends that: a copy of which ZFS says that it was written to cannot take
    over."""
    up(pair.owner, kind).down()
    pair.add()
    wait_for(pair.in_step, "the copy has all")
    reboot(pools, pair.owner)
    if kind == "zfs":
        assert get(pair.owner.dataset("data"), "written") != "0"
    take_over(pair, "data")
    pair.owner.start_node()
    wait_for(lambda: returned(pair.owner), "the lost host has a copy", 60)
    assert not [leaf for leaf in pair.owner.leaves() if leaf.startswith("_diverged/")]
    wait_for(lambda: get(pair.replica(host=pair.owner), "written") == "0", "a push has arrived", 60)


def test_snapshots_and_clones_have_the_last_writes(host, pools):
    """CreateSnapshot, a group, and the clone of a volume, each of a volume of its own."""
    volumes = [Volume(host, name, size=64 * MIB).up() for name in ("one", "two", "three")]
    for volume in volumes:
        write_synced(volume, "before")
    with power_cut(pools, host):
        for volume in volumes:
            write_synced(volume, "late")
    host.start_node()
    host.wait_for_agent()
    for volume in volumes:
        volume.down()
    host.controller.CreateSnapshot(source_volume_id="one", name="s")
    host.controller.CreateVolumeGroupSnapshot(name="g", source_volume_ids=["two"])
    clone = Volume(host, "clone", size=64 * MIB)
    clone.create(volume_content_source={"volume": {"volume_id": "three"}})
    for made in (clone_of(host, "one@s"), clone_of(host, "two@g_g"), clone):
        assert has_all(host, made)


def test_a_rollback_keeps_the_last_writes(pair, pools):
    """The last writes are in the snapshot that zcsi takes of the present state first."""
    volume = up(pair.owner)
    pair.owner.agent.SnapshotDataset(id="data", name="good")
    with power_cut(pools, pair.owner):
        write_synced(volume, "late")
    boot(pair.owner, volume)
    pair.zcsi("rollback", "data", "data@good")
    rows = pair.owner.agent.ListDatasetSnapshots(dataset_id="data").snapshots
    [kept] = [row.id for row in rows if row.name != "good"]
    assert has_all(pair.owner, clone_of(pair.owner, kept))


@pytest.mark.parametrize("kind", KINDS)
def test_without_its_key_an_encrypted_volume_is_not_given_away(pair, pools, kind):
    """The log is read with the key alone. So its snapshots and its move are refused until then, but
    only because zcsi:staged says that it was in use before this boot."""
    volume = cut(pools, pair, kind, {"zfs.encryption": "aes-256-gcm"})
    name = pair.owner.dataset("data")
    assert get(name, "zcsi:staged") == BOOT.read_text().strip()
    run("zfs", "set", "zcsi:staged=an-earlier-boot", name)
    boot(pair.owner, volume)
    with refused(grpc.StatusCode.FAILED_PRECONDITION, naming=f"zfs load-key {name}"):
        pair.owner.controller.CreateSnapshot(source_volume_id="data", name="s")
    assert f"zfs load-key {name}" in pair.zcsi("move", "data", "n2", status=1)
    load_key(name)
    pair.zcsi("move", "data", "n2")
    there = make(pair.other, kind)
    there.secrets = {"encryption_key": KEY}
    assert has_all(pair.other, there)
    assert get(pair.other.dataset("data"), "zcsi:staged") == "-"
    pair.other.agent.SnapshotDataset(id="data", name="unstaged")


def test_without_its_key_an_encrypted_volume_is_kept(pair, pools, tmp_path):
    cut(pools, pair, parameters={"zfs.encryption": "aes-256-gcm"})
    take_over(pair, "data")
    run("zfs", "set", "zcsi:staged=an-earlier-boot", pair.owner.dataset("data"))
    hide_the_claim(pair.owner)
    pair.owner.start_node()
    wait_for(lambda: returned(pair.owner), "the lost host has a copy", 60)
    load_key(pair.owner.dataset("_diverged/data-0"))
    assert look(pair, tmp_path / "look") == "acknowledged"
