# SPDX-License-Identifier: MPL-2.0
"""zcsi adopt DATASET: a dataset that a person or another driver has made becomes a volume, with its
data, its snapshots and its properties; or it stays as it was."""
import subprocess
from pathlib import Path

import pytest

from client import MIB
from daemon import wait_for
from host import KERNEL_ZFS, Volume, datasets, get, run
from test_adopt import command, received, zcsi

KEPT = {"democratic-csi:csi_volume_name": "pvc-1", "democratic-csi:managed_resource": "true"}


class Driver:
    """Another driver with datasets in the pool of a host."""

    def __init__(self, host, folder):
        self.parent = f"{host.parent}-csi"
        self.folder = folder
        run("zfs", "create", "-o", "mountpoint=none", self.parent)

    def create(self, leaf="acme", **properties):
        """Create a dataset that is not mounted, without a size unless one is given."""
        options = [word for name, value in (KEPT | properties).items()
                   for word in ("-o", f"{name}={value}")]
        name = f"{self.parent}/{leaf}"
        run("zfs", "create", "-o", "canmount=noauto", *options, name)
        return name

    def create_mounted(self, **properties):
        name = self.create(mountpoint=self.folder, **properties)
        run("zfs", "mount", name)
        return name

    def close(self):
        for name in datasets(self.parent):
            subprocess.run(["zfs", "unmount", name], check=False, capture_output=True)
        run("zfs", "destroy", "-r", self.parent)


@pytest.fixture
def driver(host, tmp_path):
    made = Driver(host, tmp_path / "mounted")
    yield made
    made.close()


def properties_of(name):
    rows = run("zfs", "get", "-Hp", "-s", "local", "-o", "property,value", "all", name)
    return dict(line.split("\t") for line in rows.splitlines())


def assert_refused(host, name, text, *options):
    """zcsi fails with the text, and the dataset stays as it was."""
    before = properties_of(name)
    assert text in zcsi(host, "adopt", name, *options, status=1)
    assert properties_of(name) == before and host.ids() == []


def test_a_dataset_of_another_driver_becomes_a_volume(host, driver):
    name = driver.create_mounted(quota=64 * MIB)
    Path(driver.folder, "data").write_text("one")
    run("zfs", "snapshot", f"{name}@snapshot-1")
    Path(driver.folder, "data").write_text("two")
    guid = get(name, "guid")
    assert_refused(host, name, f"run 'zfs unmount {name}'")
    run("zfs", "unmount", name)
    assert zcsi(host, "adopt", name, "--node", "n1") == ""
    assert host.ids() == ["acme"] and datasets(driver.parent) == []
    made = host.dataset("acme")
    assert get(made, "guid") == guid
    assert {key: get(made, key) for key in KEPT} == KEPT
    assert get(made, "refquota") == str(64 * MIB) and get(made, "quota") == "0"
    record = host.agent.GetDataset(id="acme").dataset
    assert record.size == 64 * MIB and not record.maybe_blank
    def listed():
        return [row.id for row in host.agent.ListDatasetSnapshots(dataset_id="acme").snapshots]
    wait_for(lambda: listed() == ["acme@snapshot-1"], "its snapshot is listed")
    volume = Volume(host, "acme", size=64 * MIB)
    volume.create()  # finds it
    for step in (volume.attach, volume.stage, volume.publish):
        step()
    assert Path(volume.target, "data").read_text() == "two"
    volume.down()


def test_a_volume_gets_the_wished_name_and_size(host, driver):
    name = driver.create("pvc-1", refquota=64 * MIB)
    zcsi(host, "adopt", name, "--as", "a volume", "--size", "32M")
    assert host.ids() == ["a volume"]
    assert host.agent.GetDataset(id="a volume").dataset.size == 32 * MIB


def test_a_reservation_becomes_that_of_a_thick_volume(host, driver):
    zcsi(host, "adopt", driver.create(refquota=16 * MIB, reservation=8 * MIB))
    made = host.dataset("acme")
    assert get(made, "reservation") == "0" and get(made, "refreservation") == str(16 * MIB)


def test_a_dataset_below_the_parent_becomes_a_volume_in_its_place(host):
    for leaf, wanted in (("acme", "acme"), ("films", "movies")):
        run("zfs", "create", "-o", "canmount=noauto", host.dataset(leaf))
        zcsi(host, "adopt", host.dataset(leaf), "--as", wanted, "--size", "8M")
    assert host.ids() == ["acme", "movies"] and host.leaves() == ["acme", "movies"]
    host.node_daemon.kill()
    host.restart(host.node_daemon)
    assert host.ids() == ["acme", "movies"]


def test_what_was_received_gets_another_name(host):
    for leaf in ("copy", "a_2Fb"):
        run("zfs", "create", "-p", "-o", "canmount=noauto", received(host, leaf))
        run("zfs", "snapshot", f"{received(host, leaf)}@one")
    zcsi(host, "adopt", "copy", "--as", "films", "--size", "8M")
    zcsi(host, "adopt", received(host, "a_2Fb"), "--as", "a/b", "--size", "8M")
    assert host.ids() == ["a/b", "films"]


def test_a_dataset_that_others_use_is_refused(host, driver):
    name = driver.create(refquota=64 * MIB)
    run("zfs", "create", "-o", "canmount=noauto", f"{name}/below")
    assert_refused(host, name, "1 datasets are below")
    run("zfs", "destroy", f"{name}/below")
    run("zfs", "set", "sharenfs=rw", name)
    assert_refused(host, name, f"'zfs inherit sharenfs {name}'")
    run("zfs", "inherit", "sharenfs", name)
    run("zfs", "set", "readonly=on", driver.parent)  # which a volume does not inherit
    zcsi(host, "adopt", name)


def test_a_dataset_without_a_size_is_refused(host, driver):
    name = driver.create()
    assert_refused(host, name, "add --size 1M, or more")
    assert_refused(host, name, "cannot have the format ext4", "--format", "ext4", "--size", "8M")


def test_names_of_no_dataset_to_adopt_are_refused(host, driver):
    pool = host.parent.split("/")[0]
    run("zfs", "create", "-p", "-o", "canmount=noauto", host.dataset("_trash"))
    for name, text in ((pool + "/none", f"there is no '{pool}/none'"),
                       ("other/acme", f"'other/acme' is not in the pool '{pool}' of this node"),
                       (host.parent, f"are below '{host.parent}'"),
                       (host.dataset("_trash"), "zcsi trash list"),
                       (f"{driver.parent}@one", "is not the name of a dataset")):
        assert text in zcsi(host, "adopt", name, "--as", "acme", status=1), name
    assert host.ids() == []


def test_the_pool_itself_is_refused(host):
    """A pool has no slash: without --as its name is that of a received dataset."""
    said = zcsi(host, "adopt", host.parent.split("/")[0], "--size", "8M", status=1)
    assert "which 'zcsi receive' would have made" in said


def test_a_volume_of_another_node_is_refused(host, new_host):
    other = new_host(node_id="n2").start()
    Volume(other, "data").create()
    name = other.dataset("data")
    assert_refused(host, name, f"'zfs inherit PROPERTY {name}'")
    assert_refused(host, name, "zcsi:version", "--as", "copy")
    assert other.ids() == ["data"]


def test_a_name_that_is_taken_is_refused(host, driver):
    name = driver.create(refquota=64 * MIB)
    run("zfs", "create", "-o", "canmount=noauto", host.dataset("acme"))
    assert_refused(host, name, "exists and is not a zcsi volume")
    Volume(host, "data").create()
    assert "'data' exists" in zcsi(host, "adopt", name, "--as", "data", status=1)
    zcsi(host, "adopt", name, "--as", "films")
    assert host.ids() == ["data", "films"]


def test_a_clone_of_what_is_adopted_stays_mounted(host, driver):
    """zfs-fuse would unmount it, so such a dataset is refused there."""
    name, clone = driver.create(refquota=64 * MIB), f"{driver.parent}/clone"
    run("zfs", "snapshot", f"{name}@one")
    run("zfs", "clone", "-o", f"mountpoint={driver.folder}", f"{name}@one", clone)
    if KERNEL_ZFS:
        zcsi(host, "adopt", name)
    else:
        assert_refused(host, name, "zfs-fuse would unmount")
    assert get(clone, "mounted") == "yes"
    run("zfs", "unmount", clone)
    run("zfs", "set", "canmount=noauto", clone)
    if not KERNEL_ZFS:
        zcsi(host, "adopt", name)
    zcsi(host, "adopt", clone, "--size", "8M")
    assert get(host.dataset("clone"), "origin") == host.dataset("acme@one")


def test_two_adoptions_of_one_dataset_make_one_volume(host, driver):
    name = driver.create(refquota=64 * MIB)
    both = [subprocess.Popen([*command(host), "adopt", name, "--as", each],
                             stderr=subprocess.PIPE) for each in ("one", "two")]
    said = [process.communicate()[1].decode() for process in both]
    assert sorted(process.returncode for process in both) == [0, 1], said
    assert len(host.ids()) == 1 == len(host.leaves()) and datasets(driver.parent) == []
