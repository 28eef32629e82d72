# SPDX-License-Identifier: MPL-2.0
"""Data that only a lost host has when it returns: `zcsi diverged` shows it, and the metric and the
health of the volume tell of it until it is dropped."""
import subprocess

import grpc
import pytest

from client import MIB, refused
from copies import create, in_use, write
from daemon import wait_for
from host import get, run, Volume
from pages import page
from test_copies import health, KEY
from test_failover import lose, returned, take_over
from test_move import filled, make, use
from zvols import device, write as write_device

ASIDE = "_diverged/data-0"
CHANGES = "echo late >'/mnt/a b' && rm /mnt/one && mv /mnt/two /mnt/three"


@pytest.fixture
def folder(tmp_path):
    """An empty folder, where nothing is mounted any more after the test."""
    made = tmp_path / "mounted"
    made.mkdir()
    yield made
    subprocess.run(["umount", made], check=False)


def change(host, kind="zfs", script=CHANGES):
    """Change files of the volume on a host whose zcsi-node is dead, as a workload that goes on."""
    source = host.dataset("data") if kind == "zfs" else device(host)
    run("unshare", "--mount", "--propagation", "private", "sh", "-c",
        f"mount -t {kind} {source} /mnt && {script} && umount /mnt")


def back(host):
    """Start the zcsi-node of a lost host, with metrics, and wait until it has made way."""
    host.node_daemon.metrics = f"{host.folder}/metrics"
    host.node_daemon.argv += ["--metrics", f"unix://{host.node_daemon.metrics}"]
    host.start_node()
    wait_for(lambda: returned(host), "the lost host has a copy", 60)


def diverge(pair, kind="zfs"):
    """Have the second host take the volume over, and the first one return with changes."""
    filled(pair, kind)
    lose(pair.owner)
    take_over(pair, "data")
    change(pair.owner, kind)
    back(pair.owner)
    wait_for(pair.settled, "the copy is up to date", 120)


def metric(host):
    status, text = page(host.node_daemon, "/metrics")
    [line] = [line for line in text.splitlines() if line.startswith("zcsi_volumes_diverged ")]
    assert status == 200
    return float(line.split()[1])


def compared(host):
    """Return the lines of its mount table that are mounts for a diff."""
    return [line for line in host.namespaces.mounts().splitlines() if " /run/zcsi/diff-" in line]


def snapshots(host):
    return run("zfs", "list", "-rHt", "snapshot", "-o", "name", host.parent).split()


def test_diverged_data_is_reported_until_it_is_dropped(pair):
    """The volume is attached and used meanwhile, as any other one."""
    diverge(pair)
    assert metric(pair.owner) == 1
    assert len(pair.owner.agent.GetHost().diverged) == 1 and not pair.other.agent.GetHost().diverged
    wait_for(lambda: (health(pair) or [""])[0] == "Diverged", "the health says Diverged", 60)
    assert "node 'n1'" in health(pair)[1] and "zcsi diverged list data" in health(pair)[1]
    [entry] = pair.owner.controller.ListVolumes().entries
    assert entry.status.volume_condition.abnormal
    [entry] = pair.owner.controller.ControllerListVolumeHealth().entries
    assert [said.reason for said in entry.health_statuses] == ["Diverged"]
    use(pair.other).down()
    pair.zcsi("diverged", "drop", "data-0", "--destroy", "1")
    assert metric(pair.owner) == 0 and not pair.owner.agent.GetHost().diverged
    wait_for(lambda: health(pair) == [], "the volume is healthy", 60)


@pytest.mark.parametrize("kind", ["zfs", "ext4"])
def test_diverged_data_is_mounted_and_the_printed_commands_end_that(pair, folder, kind):
    diverge(pair, kind)
    said = pair.zcsi("diverged", "mount", "data", folder).splitlines()
    assert (folder / "a b").read_text() == "late\n" and not (folder / "one").exists()
    with pytest.raises(OSError):
        (folder / "new").touch()
    assert "not empty" in pair.zcsi("diverged", "mount", "data-0", folder, status=1)
    pair.zcsi("diverged", "drop", "data-0", "--destroy", "1", status=1)
    for line in said[1:]:
        run(*line.split())
    assert list(folder.iterdir()) == []
    wait_for(lambda: not device(pair.owner, ASIDE).exists(), "it has no device")
    pair.zcsi("diverged", "drop", "data-0", "--destroy", "1")


def test_diverged_data_is_mounted_on_its_host_only(pair, folder, tmp_path):
    """Both hosts are this machine, so a zfs that does not know the dataset is another host's."""
    diverge(pair)
    script = tmp_path / "bin" / "zfs"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho 'dataset does not exist' >&2\nexit 1\n")
    script.chmod(0o755)
    done = subprocess.run(pair.argv("diverged", "mount", "data", folder), check=False, text=True,
                          capture_output=True, env={"PATH": f"{script.parent}:/usr/bin:/bin"})
    assert done.returncode == 1 and "on the host of node 'n1'" in done.stderr
    assert "cannot open the folder" in pair.zcsi("diverged", "mount", "data", folder / "none",
                                                 status=1)


def test_a_block_volume_has_no_files(pair, folder):
    create(make(pair.owner, "block"))
    pair.add()
    lose(pair.owner)
    take_over(pair, "data")
    write_device(device(pair.owner), b"late" * 1024)
    back(pair.owner)
    assert "volmode=full" in pair.zcsi("diverged", "mount", "data", folder, status=1)
    assert "is a zvol" in pair.zcsi("diverged", "diff", "data", status=1)


def test_a_diff_names_the_files(pair):
    """The lines are those of zfs diff. Nothing is left: no mount, and no snapshot."""
    diverge(pair)
    before = snapshots(pair.owner)
    lines = pair.zcsi("diverged", "diff", "data").splitlines()
    [root] = [line[2:-1] for line in lines if line.startswith("M\t") and line.endswith("/")]
    assert set(lines) == {f"M\t{root}/", f"-\t{root}/one", f"+\t{root}/a\\0040b",
                          f"R\t{root}/two -> {root}/three"}
    assert compared(pair.owner) == [] and snapshots(pair.owner) == before
    assert "diverged list" in pair.zcsi("diverged", "diff", "none", status=1)
    with refused(grpc.StatusCode.INVALID_ARGUMENT):
        list(pair.owner.agent.DiffDiverged(name="../data"))


def test_a_diff_works_after_the_volume_came_back(pair):
    """The copy, with which it is compared, is the volume again, and in use."""
    diverge(pair)
    pair.zcsi("move", "data", "n1")
    volume = use(pair.owner)
    write(volume, "four")
    lines = pair.zcsi("diverged", "diff", "data-0").splitlines()
    assert len(lines) == 4 and not [line for line in lines if "four" in line]
    write(volume, "five")
    volume.down()


def test_a_diff_of_encrypted_data_needs_its_key(pair):
    volume = Volume(pair.owner, "data", size=64 * MIB)
    volume.secrets = {"encryption_key": KEY}
    use(pair.owner, create(volume, {"zfs.encryption": "aes-256-gcm"}))
    write(volume, "one")
    pair.add()
    lose(pair.owner)
    write(volume, "late")
    take_over(pair, "data")
    pair.owner.start_node()
    volume.unpublish()
    volume.unstage()
    wait_for(lambda: returned(pair.owner), "the lost host has a copy", 60)
    wait_for(pair.settled, "the copy is up to date", 120)
    root = get(pair.owner.dataset(ASIDE), "encryptionroot")
    assert f"zfs load-key {root}" in pair.zcsi("diverged", "diff", "data", status=1)
    assert f"zfs load-key {root}" in pair.zcsi("diverged", "mount", "data", "/mnt", status=1)
    run("zfs", "load-key", "-L", "prompt", root, input=KEY)
    lines = pair.zcsi("diverged", "diff", "data").splitlines()
    assert [line for line in lines if line.startswith("+\t") and line.endswith("/late")]
    run("zfs", "unload-key", root)


def test_a_diff_that_was_killed_leaves_nothing_mounted(new_pair, gate):
    """zcsi-node is killed while both are mounted. The next one unmounts them at its first look,
    a minute after its start."""
    with new_pair(owner_env=gate.env) as pair:
        diverge(pair)
        gate.hold(" diff ")
        command = pair.begin("diverged", "diff", "data")
        gate.arrived()
        assert len(compared(pair.owner)) == 2
        assert "mounted at" in pair.zcsi("diverged", "drop", "data-0", "--destroy", "1", status=1)
        pair.owner.node_daemon.kill()
        gate.kill()
        gate.open()
        assert command.wait()
        pair.owner.restart(pair.owner.node_daemon)
        wait_for(lambda: compared(pair.owner) == [], "nothing is mounted", 120)
        assert pair.zcsi("diverged", "diff", "data")


def test_a_diff_ends_with_its_command(new_pair, gate):
    with new_pair(owner_env=gate.env) as pair:
        diverge(pair)
        gate.hold(" diff ")
        command = pair.begin("diverged", "diff", "data")
        gate.arrived()
        command.kill()
        command.wait()
        wait_for(lambda: compared(pair.owner) == [], "nothing is mounted", 60)
        gate.open()
        assert pair.zcsi("diverged", "diff", "data")


def test_a_diff_without_a_common_snapshot_is_refused(pair):
    """Here a volume is put aside that had no copy at all."""
    diverge(pair)
    with in_use(pair, volume=Volume(pair.owner, "other", size=64 * MIB)) as other:
        write(other, "one")
    aside = pair.owner.dataset("_diverged/other-0")
    run("zfs", "rename", pair.owner.dataset("other"), aside)
    said = pair.zcsi("diverged", "diff", "other-0", status=1)
    assert "no snapshot in common" in said and "zcsi diverged mount other-0" in said
