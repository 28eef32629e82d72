# SPDX-License-Identifier: MPL-2.0
"""Volumes created from snapshots and from volumes: contents, sizes, and dependent snapshots."""
from pathlib import Path

import grpc
import pytest

from client import MIB, refused, size_of, topology
from daemon import wait_for
from host import fill, get, KERNEL_ZFS, run, SIZE, Volume
from snapshots import clone, drop, in_zfs, listed, of_snapshot, of_volume, restore, take, trashed

CODE = grpc.StatusCode


def write(volume, text):
    Path(volume.target, "file").write_text(text, encoding="ascii")
    run("sync", "-f", volume.target)


def content(volume):
    for step in (volume.attach, volume.stage, volume.publish):
        step()
    found = Path(volume.target, "file").read_text(encoding="ascii")
    volume.down()
    return found


@pytest.fixture
def source(volume):
    """A volume with a file "first" in its snapshot s; the file in the volume is now "second"."""
    volume.up()
    write(volume, "first")
    take(volume)
    write(volume, "second")
    return volume.down()


def test_a_restored_volume_has_what_the_snapshot_has(host, source):
    assert content(restore(host, "data@s")) == "first"


def test_a_cloned_volume_has_what_its_source_has(host, source):
    assert content(clone(source)) == "second"


def test_a_clone_of_a_volume_in_use_has_what_was_written_before(host, volume):
    volume.up()
    write(volume, "now")
    assert content(clone(volume)) == "now"
    volume.down()


def test_writes_to_a_clone_and_its_source_are_independent(host, source):
    copy = clone(source)
    for volume in (source, copy):
        volume.attach(), volume.stage(), volume.publish()
        write(volume, volume.id)
        volume.down()
    assert (content(source), content(copy)) == ("data", "copy")


def test_a_chain_of_clones_has_the_first_content(host, source):
    last = clone(clone(restore(host, "data@s", "one"), "two"), "three")
    assert content(last) == "first"


def test_a_chain_of_deleted_clones_is_reaped(new_host):
    host = new_host(node_args=["--rescan", "1"]).start()
    first = Volume(host, "one")
    first.create()
    clone(clone(first, "two"), "three")
    for name in ("one", "two"):
        Volume(host, name).delete()
    assert len(trashed(host)) == 2 and host.ids() == ["three"]
    Volume(host, "three").delete()
    wait_for(lambda: host.leaves() == ["_trash"], "the links are reaped")


SOURCES = {"snapshot": of_snapshot("data@s"), "volume": of_volume("data")}


@pytest.mark.parametrize("kind", SOURCES)
def test_the_source_is_echoed_in_every_answer(host, source, kind):
    copy = Volume(host, "copy")
    wanted = copy.create(**SOURCES[kind]).volume.content_source
    assert wanted.WhichOneof("type") == kind
    host.node_daemon.kill()
    host.restart(host.node_daemon)
    assert copy.create(**SOURCES[kind]).volume.content_source == wanted
    entries = host.controller.ListVolumes().entries
    found = {entry.volume.volume_id: entry.volume for entry in entries}
    assert found["copy"].content_source == wanted
    assert not found["data"].HasField("content_source")
    assert host.controller.ControllerGetVolume(volume_id="copy").volume.content_source == wanted


@pytest.mark.parametrize("kind", SOURCES)
def test_a_repeat_is_the_same_when_the_source_is_gone(host, source, kind):
    copy = Volume(host, "copy")
    first = copy.create(**SOURCES[kind]).volume
    drop(host, "data@s")
    source.delete()
    assert copy.create(**SOURCES[kind]).volume == first
    assert content(copy) == {"snapshot": "first", "volume": "second"}[kind]


@pytest.mark.parametrize("kind", SOURCES)
def test_another_source_is_another_volume(host, source, kind):
    copy = Volume(host, "copy")
    copy.create(**SOURCES[kind])
    for other in [{}, *(fields for name, fields in SOURCES.items() if name != kind),
                  of_snapshot("data@t"), of_volume("other")]:
        with refused(CODE.ALREADY_EXISTS, naming=("copy", "volume_content_source")):
            copy.create(**other)
    with refused(CODE.ALREADY_EXISTS, naming="volume_content_source"):
        source.create(**SOURCES[kind])


@pytest.mark.parametrize("fields", [of_snapshot("data@no"), of_volume("no")],
                         ids=["snapshot", "volume"])
def test_a_missing_source_creates_nothing(host, volume, fields):
    volume.create()
    with refused(CODE.NOT_FOUND, naming="no"):
        Volume(host, "copy").create(**fields)
    assert host.leaves() == ["data"] and in_zfs(host) == []


@pytest.mark.parametrize("kind", SOURCES)
def test_without_a_size_a_clone_has_its_sources_size(host, source, kind):
    copy = Volume(host, "copy")
    assert copy.create(**SOURCES[kind], capacity_range=None).volume.capacity_bytes == SIZE
    assert get(host.dataset("copy"), "refquota") == str(SIZE)


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("asked", [size_of(SIZE - 1), size_of(0, SIZE - 1), size_of(MIB, MIB)],
                         ids=["required", "limit", "both"])
def test_a_smaller_size_is_out_of_range(host, source, kind, asked):
    with refused(CODE.OUT_OF_RANGE, naming=str(SIZE)):
        Volume(host, "copy").create(**SOURCES[kind], capacity_range=asked)
    assert host.leaves() == ["data"] and in_zfs(host) == ["data@s"]


@pytest.mark.parametrize("kind", SOURCES)
def test_a_clone_can_be_larger_than_its_source(host, source, kind):
    copy = Volume(host, "copy", size=2 * SIZE)
    assert copy.create(**SOURCES[kind]).volume.capacity_bytes == 2 * SIZE
    copy.attach(), copy.stage(), copy.publish()
    assert SIZE < fill(f"{copy.target}/rest") <= 2 * SIZE
    copy.down()


def test_a_snapshot_is_as_large_as_its_volume_was(host, source):
    source.expand(2 * SIZE)
    assert restore(host, "data@s").record().size == SIZE
    with refused(CODE.OUT_OF_RANGE, naming=str(2 * SIZE)):
        clone(source, "small")


def test_a_clone_has_parameters_of_its_own(host, volume):
    volume.create(parameters={"zfs.compression": "gzip", "owner": "1000"})
    copy = clone(volume, parameters={"zfs.atime": "off"})
    dataset = host.dataset("copy")
    assert get(dataset, "atime") == "off" and get(dataset, "zcsi:root") == "-"
    assert "source" not in get(dataset, "zcsi:parameters")
    assert run("zfs", "get", "-H", "-o", "source", "compression", dataset).strip() != "local"
    assert copy.record().source_dataset == "data" and not copy.record().published


def test_a_clone_is_not_published_where_its_source_is(host, volume):
    volume.create()
    volume.attach()
    copy = clone(volume)
    assert get(host.dataset("copy"), "zcsi:published") == "-"
    copy.delete()


def test_the_snapshot_of_a_volume_clone_is_hidden(host, source):
    copies = [clone(source, name) for name in ("a", "b")]
    assert listed(host) == ["data@s"]
    assert in_zfs(host) == ["data@_clone-a", "data@_clone-b", "data@s"]
    for copy, left in zip(copies, (["data@_clone-b", "data@s"], ["data@s"])):
        copy.delete()
        assert in_zfs(host) == left


def test_a_hidden_snapshot_cannot_be_asked_for(host, volume):
    volume.create()
    clone(volume)
    hidden = "data@_clone-copy"
    with refused(CODE.NOT_FOUND, naming=hidden):
        host.controller.GetSnapshot(snapshot_id=hidden)
    with refused(CODE.NOT_FOUND, naming=hidden):
        restore(host, hidden, "other")
    drop(host, hidden)
    assert listed(host, snapshot_id=hidden) == [] and in_zfs(host) == [hidden]


def test_a_deleted_source_lives_as_long_as_its_clone(host, source):
    copy = clone(source)
    drop(host, "data@s")
    source.delete()
    assert host.ids() == ["copy"] and len(trashed(host)) == 1
    assert content(copy) == "second"
    copy.delete()
    host.node_daemon.signal(1)
    wait_for(lambda: not trashed(host), "the source is reaped")


def mounted_of(host):
    """Return the lines of mountinfo below the host's folder, with the ids of the mounts."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="ascii").splitlines()
    return [line for line in lines if line.split()[4].startswith(f"{host.folder}/")]


def test_a_clone_in_use_stays_mounted_when_its_source_is_deleted(host, source):
    copy, second = clone(source), clone(clone(source, "one"), "two")
    for volume in (copy, second):
        volume.attach(), volume.stage(), volume.publish()
    before = mounted_of(host)
    assert len(before) == 4
    if KERNEL_ZFS:
        source.delete()
    for volume in () if KERNEL_ZFS else (copy, second):
        with refused(CODE.FAILED_PRECONDITION, naming=(host.dataset(volume.id), volume.staging)):
            source.delete()
        assert mounted_of(host) == before
        write(volume, "third")
        volume.down()
        before = mounted_of(host)
    assert mounted_of(host) == before
    source.delete()
    assert len(trashed(host)) == 1 and "data" not in host.ids()
    if KERNEL_ZFS:
        for volume in (copy, second):
            write(volume, "third")
            volume.down()
    assert (content(copy), content(second)) == ("third", "third")


def test_a_deleted_snapshot_hides_until_its_last_clone_is_gone(host, source):
    copies = [restore(host, "data@s", name) for name in ("a", "b")]
    drop(host, "data@s")
    drop(host, "data@s")
    assert listed(host) == [] and in_zfs(host) == ["data@s"]
    assert get(host.dataset("data@s"), "defer_destroy") == "on"
    with refused(CODE.NOT_FOUND, naming="data@s"):
        restore(host, "data@s", "c")
    copies[0].delete()
    assert in_zfs(host) == ["data@s"] and content(copies[1]) == "first"
    copies[1].delete()
    assert in_zfs(host) == []


def test_a_hidden_snapshot_stays_hidden_after_a_restart(host, source):
    restore(host, "data@s")
    drop(host, "data@s")
    host.node_daemon.kill()
    host.restart(host.node_daemon)
    assert listed(host) == [] and in_zfs(host) == ["data@s"]
    drop(host, "data@s")


def test_the_name_of_a_hidden_snapshot_is_refused_and_not_reused(host, source):
    restore(host, "data@s")
    drop(host, "data@s")
    with refused(CODE.ALREADY_EXISTS, naming="data@s"):
        take(source)
    assert listed(host) == []
    Volume(host, "copy").delete()
    assert take(source).snapshot_id == "data@s"


def test_a_clone_is_created_on_the_node_of_its_source_only(host, source):
    for fields in SOURCES.values():
        with refused(CODE.RESOURCE_EXHAUSTED, naming=("copy", "n1")):
            Volume(host, "copy").create(**fields, accessibility_requirements=topology("n2"))
        Volume(host, "copy").create(**fields, accessibility_requirements=topology("n2", "n1"))
        Volume(host, "copy").delete()


def test_a_volume_cannot_be_made_of_itself(host):
    with refused(CODE.NOT_FOUND, naming="copy"):
        Volume(host, "copy").create(**of_volume("copy"))
    assert host.leaves() == []


def test_a_clone_cut_short_is_made_by_the_repeat(gated, gate):
    host = gated
    Volume(host, "data").create()
    gate.hold(" clone ")
    copy = Volume(host, "copy")
    call = copy.start_create(**of_volume("data"))
    gate.arrived()
    assert in_zfs(host) == ["data@_clone-copy"]
    host.node_daemon.kill()
    gate.match("(none)")
    with refused(CODE.UNAVAILABLE):
        call.result()
    gate.open()
    host.restart(host.node_daemon)
    copy.create(**of_volume("data"))
    copy.delete()
    wait_for(lambda: in_zfs(host) == [], "what the crash left is gone")


def test_a_snapshot_deleted_while_it_is_cloned_hides_under_the_clone(gated, gate):
    source, copy = Volume(gated, "data"), Volume(gated, "copy")
    source.create()
    take(source)
    gate.hold(" clone ")
    cloning = copy.start_create(**of_snapshot("data@s"))
    gate.arrived()
    deleting = gated.controller.DeleteSnapshot.future(snapshot_id="data@s")
    gate.open()
    assert cloning.result().volume.volume_id == "copy"
    deleting.result()
    assert listed(gated) == [] and in_zfs(gated) == ["data@s"] and gated.ids() == ["copy", "data"]
    copy.delete()
    assert in_zfs(gated) == []


def test_a_volume_deleted_while_it_is_cloned_goes_to_the_trash(gated, gate):
    source, copy = Volume(gated, "data"), Volume(gated, "copy")
    source.create()
    gate.hold(" clone ")
    cloning = copy.start_create(**of_volume("data"))
    gate.arrived()
    deleting = source.start_delete()
    gate.open()
    assert cloning.result().volume.volume_id == "copy"
    deleting.result()
    assert gated.ids() == ["copy"] and len(trashed(gated)) == 1
