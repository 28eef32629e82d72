# SPDX-License-Identifier: MPL-2.0
"""Parameters of a volume: the properties they set, and which of them can be changed later."""
import contextlib
import subprocess

import grpc
import pytest

from client import MIB, refused, size_of
from host import get, KERNEL_ZFS, run, SIZE, Volume

CODE = grpc.StatusCode


def change(volume, values):
    volume.host.controller.ControllerModifyVolume(volume_id=volume.id, mutable_parameters=values)


def source_of(dataset, name):
    return run("zfs", "get", "-H", "-o", "source", name, dataset).strip()


@pytest.fixture
def made(volume):
    volume.create()
    return volume


# Parameters with values that zfs-fuse accepts too.
PARAMETERS = {"zfs.atime": "off", "zfs.checksum": "sha256", "zfs.compression": "gzip-9",
              "zfs.copies": "2", "zfs.logbias": "throughput", "zfs.primarycache": "metadata",
              "zfs.secondarycache": "none", "zfs.snapdir": "visible"}


@pytest.mark.parametrize("key", PARAMETERS)
def test_a_parameter_sets_its_property_on_create_and_modify(host, volume, dataset, key):
    volume.create(parameters={key: PARAMETERS[key]})
    other = Volume(host, "other")
    other.create()
    change(other, {key: PARAMETERS[key]})
    for name in (dataset, host.dataset("other")):
        assert get(name, key[4:]) == PARAMETERS[key]
        assert source_of(name, key[4:]) == "local"


def test_a_recordsize_may_have_any_unit(made, dataset):
    for value, size in (("16K", 16384), ("32768", 32768)):
        change(made, {"zfs.recordsize": value})
        assert get(dataset, "recordsize") == str(size)


def test_mutable_parameters_go_over_parameters(volume, dataset):
    volume.create(parameters={"zfs.atime": "on", "zfs.compression": "gzip"},
                  mutable_parameters={"zfs.atime": "off"})
    assert (get(dataset, "atime"), get(dataset, "compression")) == ("off", "gzip")


def test_a_repeat_is_compared_with_what_was_asked_for(volume):
    first = volume.create(mutable_parameters={"zfs.atime": "off"}).volume
    change(volume, {"zfs.atime": "on"})
    assert volume.create(mutable_parameters={"zfs.atime": "off"}).volume == first
    assert volume.create(parameters={"zfs.atime": "off"}).volume == first
    with refused(CODE.ALREADY_EXISTS, naming=("parameters", "zfs.atime")):
        volume.create(mutable_parameters={"zfs.atime": "on"})
    with refused(CODE.ALREADY_EXISTS, naming=("parameters", "zfs.atime")):
        volume.create()


def test_a_default_said_or_not_is_the_same(volume):
    first = volume.create().volume
    said = {"provisioning": "thin", "attach": "local", "csi.storage.k8s.io/pvc/name": "x"}
    assert volume.create(parameters=said).volume == first


def test_the_claim_of_kubernetes_is_a_property_of_the_dataset(volume, dataset):
    sidecar = "csi.storage.k8s.io/"
    first = volume.create(parameters={f"{sidecar}pv/name": "pvc-1", f"{sidecar}pvc/name": "data",
                                      f"{sidecar}pvc/namespace": "shop"}).volume
    assert get(dataset, "kubernetes:claim") == "shop/data"
    assert volume.create().volume == first


def test_a_modification_keeps_other_properties(made, dataset):
    change(made, {"zfs.atime": "off", "zfs.compression": "gzip"})
    change(made, {"zfs.compression": "off"})
    assert (get(dataset, "atime"), get(dataset, "compression")) == ("off", "off")


def test_a_modification_is_repeated(made, dataset):
    for _ in range(2):
        change(made, {"zfs.atime": "off", "zfs.user.org.example:tier": "gold"})
    assert (get(dataset, "atime"), get(dataset, "org.example:tier")) == ("off", "gold")


REFUSED = {
    "zfs.mountpoint": "/", "zfs.refquota": "1G", "zfs.compression": "best", "zfs.copies": "4",
    "zfs.recordsize": "1000", "zfs.user.zcsi:volume": "mine", "zfs.user.nocolon": "x",
    "zfs.user.org.example:tier": "", "zfs.user.Org:x": "y", "zfs.user.a:b": "line\nbreak",
    "unknown": "x", "": "x", "attach": "local", "owner": "1", "group": "1", "mode": "0700",
    "provisioning": "thick", "members": "n1,n2", "replicas": "0", "sync_every": "9s",
    "bandwidth": "1K", "snapshots": "none", "pin_limit": "0",
    "repair_after": "off",
}


@pytest.mark.parametrize("key", REFUSED)
def test_a_wrong_parameter_prevents_the_modification(made, dataset, key):
    before = run("zfs", "get", "-Hp", "all", dataset)
    with refused(CODE.INVALID_ARGUMENT, naming=key):
        change(made, {"zfs.atime": "off", key: REFUSED[key], "zfs.logbias": "throughput"})
    assert run("zfs", "get", "-Hp", "all", dataset) == before


@pytest.mark.parametrize("key", ["attach", "owner", "group", "mode", "provisioning", "members"])
def test_a_parameter_that_cannot_be_changed_is_not_mutable_on_create(host, volume, key):
    with refused(CODE.INVALID_ARGUMENT, naming=key):
        volume.create(mutable_parameters={key: REFUSED[key]})
    assert host.leaves() == []


def test_a_parameter_that_contradicts_another_is_refused(host, volume):
    with refused(CODE.INVALID_ARGUMENT, naming=("zfs.relatime", "zfs.atime")):
        volume.create(parameters={"zfs.atime": "off"}, mutable_parameters={"zfs.relatime": "on"})
    assert host.leaves() == []


@pytest.mark.parametrize("key,value", [("zfs.compression", "zstd-19"), ("zfs.sync", "always")])
def test_a_value_that_only_this_zfs_refuses_changes_nothing(made, dataset, key, value):
    """OpenZFS takes both values; zfs-fuse takes fewer values than the table of parameters."""
    wanted = {"zfs.atime": "off", key: value, "zfs.user.org.example:z": "set"}
    if KERNEL_ZFS:
        change(made, wanted)
        assert get(dataset, key[4:]) == value
        return
    before = run("zfs", "get", "-Hp", "all", dataset)
    with refused(CODE.INVALID_ARGUMENT, naming=key[4:]):
        change(made, wanted)
    assert run("zfs", "get", "-Hp", "all", dataset) == before


def test_copies_without_a_node_are_refused(made, dataset):
    """If the new copies cannot be made, no other parameter is changed either."""
    with refused(CODE.RESOURCE_EXHAUSTED, naming="on 2 nodes"):
        change(made, {"zfs.atime": "off", "replicas": "2"})
    assert source_of(dataset, "atime") == "default"


def test_push_rules_are_kept_until_there_is_a_copy(volume, dataset):
    volume.create(parameters={"sync_every": "2m"}, mutable_parameters={"bandwidth": "1M"})
    assert get(dataset, "zcsi:push") == f"bandwidth={MIB},every=120"
    for _ in range(2):
        change(volume, {"zfs.atime": "off", "replicas": "1", "sync_every": "1m"})
        assert get(dataset, "zcsi:push") == f"bandwidth={MIB},every=60"
    change(volume, {"bandwidth": "none", "snapshots": "all"})
    assert get(dataset, "zcsi:push") == "every=60,snapshots=all"
    change(volume, {"snapshots": "ours", "pin_limit": "2h"})
    assert get(dataset, "zcsi:push") == "every=60,pin_limit=7200"
    change(volume, {"repair_after": "1h"})
    assert get(dataset, "zcsi:push") == "every=60,pin_limit=7200,repair_after=3600"
    change(volume, {"repair_after": "never"})
    assert get(dataset, "zcsi:push") == "every=60,pin_limit=7200"
    assert get(dataset, "zcsi:members") == "-" and get(dataset, "atime") == "off"


def test_a_volume_that_is_not_there_is_not_modified(host):
    with refused(CODE.NOT_FOUND, naming="made-up"):
        change(Volume(host, "made-up"), {"zfs.atime": "off"})


def test_a_user_property_is_set_and_kept(host, volume, dataset):
    volume.create(parameters={"zfs.user.com.sun:auto-snapshot": "false", "zfs.user.a:b": "c d=e"})
    assert get(dataset, "com.sun:auto-snapshot") == "false" and get(dataset, "a:b") == "c d=e"
    change(volume, {"zfs.user.a:b": "-x %s; $(id)"})
    assert get(dataset, "a:b") == "-x %s; $(id)"


def test_the_root_directory_is_described_by_the_creator(volume, dataset):
    volume.create(parameters={"owner": "1000", "mode": "2770"})
    assert get(dataset, "zcsi:root") == "1000::2770"
    with refused(CODE.ALREADY_EXISTS, naming="owner"):
        volume.create(parameters={"mode": "2770"})


THICK = {"provisioning": "thick"}


def test_a_thick_volume_is_reserved(volume, dataset):
    volume.create(parameters=THICK)
    assert get(dataset, "refreservation") == get(dataset, "refquota") == str(SIZE)


def test_a_thin_volume_is_not_reserved(made, dataset):
    assert get(dataset, "refreservation") == "0"


def test_thick_or_thin_is_compared(volume):
    volume.create(parameters=THICK)
    with refused(CODE.ALREADY_EXISTS, naming="provisioning"):
        volume.create()


def test_a_thick_volume_grows_with_its_reservation(volume, dataset):
    volume.create(parameters=THICK)
    assert volume.expand(2 * SIZE).capacity_bytes == 2 * SIZE
    assert get(dataset, "refreservation") == get(dataset, "refquota") == str(2 * SIZE)


@pytest.fixture
def small(host):
    """A host whose parent has room for fewer than three volumes."""
    host.limit(5 * SIZE // 2)
    return host


def test_a_thick_volume_that_has_no_room_is_not_made(small):
    for name in "ab":
        Volume(small, name).create(parameters=THICK)
    with refused(CODE.RESOURCE_EXHAUSTED, naming="c"):
        Volume(small, "c").create(parameters=THICK)
    assert small.leaves() == small.ids() == ["a", "b"]


@contextlib.contextmanager
def reader(host):
    """Within the block, zcsi-node scans the pool again and again."""
    loop = 'while kill -HUP "$0"; do zfs list "$1"; done'
    with subprocess.Popen(["sh", "-c", loop, str(host.node_daemon.process.pid), host.parent],
                          stdout=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()


def test_a_thick_volume_without_room_is_not_listed_by_a_concurrent_scan(small, volume):
    volume.create(parameters=THICK)
    with reader(small):
        for number in range(10):
            with refused(CODE.RESOURCE_EXHAUSTED, naming=f"big{number}"):
                Volume(small, f"big{number}", size=2 * SIZE).create(parameters=THICK)
            assert small.ids() == ["data"]
    assert small.leaves() == ["data"]


def test_a_thick_volume_that_has_no_room_does_not_grow(small, volume, dataset):
    volume.create(parameters=THICK)
    with refused(CODE.RESOURCE_EXHAUSTED, naming="data"):
        volume.expand(4 * SIZE)
    assert get(dataset, "refreservation") == get(dataset, "refquota") == str(SIZE)
    assert volume.record().size == SIZE


def test_thin_volumes_may_exceed_the_pool(small):
    for name in "abcd":
        Volume(small, name).create()
    assert small.ids() == list("abcd")


def test_a_thick_clone_is_reserved(host, volume):
    volume.create()
    Volume(host, "copy").create(parameters=THICK,
                                volume_content_source={"volume": {"volume_id": "data"}})
    assert get(host.dataset("copy"), "refreservation") == str(SIZE)


def test_a_thick_clone_that_has_no_room_leaves_nothing(small, volume):
    volume.create(parameters=THICK)
    with refused(CODE.RESOURCE_EXHAUSTED, naming="copy"):
        Volume(small, "copy", size=4 * SIZE).create(
            parameters=THICK, volume_content_source={"volume": {"volume_id": "data"}})
    assert run("zfs", "list", "-rH", "-t", "snapshot", "-o", "name", small.parent) == ""
    assert small.leaves() == ["data"]


MODES = ["SINGLE_NODE_SINGLE_WRITER", "SINGLE_NODE_MULTI_WRITER"]


@pytest.mark.parametrize("mode", MODES)
def test_a_newer_access_mode_is_recorded_and_compared(host, mode):
    volume = Volume(host, "data", mode=mode).up()
    published, = volume.record().published
    assert published.access_mode == MODES.index(mode) + 6
    volume.attach()
    for other in ("SINGLE_NODE_WRITER", MODES[1 - MODES.index(mode)]):
        with refused(CODE.ALREADY_EXISTS, naming=(mode, other)):
            volume.attach(volume_capability=Volume(host, "data", mode=other).capability)
    volume.down().delete()


@pytest.mark.parametrize("readonly", [False, True])
def test_attached_read_only_or_not_is_compared(volume, readonly):
    volume.create()
    volume.attach(readonly=readonly)
    assert volume.record().published[0].readonly == readonly
    volume.attach(readonly=readonly)
    with refused(CODE.ALREADY_EXISTS, naming=("data", "readonly")):
        volume.attach(readonly=not readonly)
    volume.detach()
    volume.attach(readonly=not readonly)
    assert volume.record().published[0].readonly != readonly
    volume.detach()


def test_inherited_parameters_are_ignored(host, made, dataset):
    run("zfs", "set", "zcsi:root=1000:1000:0700", host.parent)
    run("zfs", "set", "zcsi:parameters=provisioning=3Dthick", host.parent)
    host.read_again()
    assert host.ids() == ["data"]
    assert made.create().volume.capacity_bytes == SIZE
    assert made.expand(2 * SIZE).capacity_bytes == 2 * SIZE
    assert get(dataset, "refreservation") == "0"


def test_a_modification_by_the_agent_keeps_to_its_rules(host, made, dataset):
    for name, value in (("mountpoint", "/"), ("zcsi:volume", "x"), ("zcsi:root", "1:1:"),
                        ("-r", "x"), ("atime", "off -r"), ("refreservation", "-1")):
        with refused(CODE.INVALID_ARGUMENT):
            host.agent.ModifyDataset(id="data", properties=[
                {"name": "copies", "value": "2"}, {"name": name, "value": value}])
    assert source_of(dataset, "copies") == "default"
    host.agent.ModifyDataset(id="data", properties=[{"name": "refreservation",
                                                     "value": str(MIB)}])
    assert get(dataset, "refreservation") == str(SIZE)


def test_an_expansion_within_the_size_changes_nothing(made, dataset):
    for asked in (size_of(1), size_of(SIZE), size_of(0, SIZE), size_of(SIZE, 2 * SIZE)):
        answer = made.host.controller.ControllerExpandVolume(volume_id="data",
                                                             capacity_range=asked)
        assert answer.capacity_bytes == SIZE
    assert get(dataset, "refquota") == str(SIZE)
