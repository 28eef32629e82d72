# SPDX-License-Identifier: MPL-2.0
"""Idle publications: an orchestrator may lose a ControllerUnpublishVolume. Once the volume is
unstaged on the node, its remaining publication hinders no other call."""
import grpc
import pytest

from client import capability, refused
from host import get, run, Volume
from staged import sibling

CODE = grpc.StatusCode


def published(volume):
    return get(volume.host.dataset(volume.id), "zcsi:published")


@pytest.fixture
def idle(volume):
    volume.up()
    volume.unpublish()
    volume.unstage()
    return volume


def test_a_volume_is_deleted_after_its_last_unstage(host, idle):
    assert published(idle) == "n1:1:rw-idle"
    idle.delete()
    assert host.leaves() == []


def test_another_access_mode_replaces_an_idle_publication(idle):
    idle.capability = capability("SINGLE_NODE_READER_ONLY")
    idle.attach()
    assert published(idle) == "n1:2:rw"
    idle.stage()
    idle.detach()


def test_an_idle_volume_is_staged_without_another_publish(idle):
    idle.stage()
    assert published(idle) == "n1:1:rw"
    with refused(CODE.FAILED_PRECONDITION, naming="n1"):
        idle.delete()
    with refused(CODE.ALREADY_EXISTS, naming="n1"):
        idle.attach(readonly=True)
    idle.unstage()
    idle.delete()


def test_a_publication_that_is_repeated_is_idle_no_more(idle):
    idle.attach()
    assert published(idle) == "n1:1:rw"
    with refused(CODE.FAILED_PRECONDITION, naming="n1"):
        idle.delete()


def test_a_publication_that_was_never_staged_is_not_idle(volume):
    volume.create()
    volume.attach()
    with refused(CODE.FAILED_PRECONDITION, naming="n1"):
        volume.delete()
    assert published(volume) == "n1:1:rw"


def test_a_volume_is_idle_after_its_last_unstage_only(host):
    volume = Volume(host, "data", mode="SINGLE_NODE_MULTI_WRITER")
    volume.create()
    volume.attach()
    other = sibling(volume, volume.mode)
    for each in (volume, other):
        each.stage()
    volume.unstage()
    assert published(volume) == "n1:7:rw"
    other.unstage()
    assert published(volume) == "n1:7:rw-idle"


def test_a_repeated_unstage_marks_what_a_crash_has_left(host, idle):
    run("zfs", "set", "zcsi:published=n1:1:rw", host.dataset("data"))
    host.read_again()
    idle.unstage()
    assert published(idle) == "n1:1:rw-idle"


def test_an_idle_publication_does_not_count_for_max_volumes(new_host):
    host = new_host(node_args=("--max-volumes", "1")).start()
    first, second = Volume(host, "first").up(), Volume(host, "second")
    second.create()
    with refused(CODE.RESOURCE_EXHAUSTED, naming="n1"):
        second.attach()
    first.unpublish()
    first.unstage()
    second.attach()


def replace(script, text):
    """Replace a script atomically, because zcsi-node may run it at the same time."""
    new = script.with_name("new-script")
    new.write_text(text)
    new.chmod(0o755)
    new.rename(script)


def test_an_unstage_succeeds_although_the_mark_cannot_be_set(new_host, new_gate):
    """The gate's zfs is replaced by one that fails to set properties."""
    gate = new_gate("zfs")
    host = new_host(env=gate.env).start()
    volume = Volume(host, "data").up()
    volume.unpublish()
    script = gate.folder / "zfs"
    whole = script.read_text()
    replace(script, whole.replace("case ", "case $1 in set) exit 1;; esac\ncase ", 1))
    volume.unstage()
    assert host.mounts() == [] and published(volume) == "n1:1:rw"
    assert "cannot record that a volume is unmounted" in host.node_daemon.text()
    replace(script, whole)
    volume.unstage()
    volume.delete()


@pytest.fixture
def renamed(host, volume):
    """A volume published to the node id that its host had before the host was renamed."""
    volume.create()
    volume.attach()
    for daemon in (host.node_daemon, host.controller_daemon):
        daemon.stop()
        daemon.close()
    argv = host.node_daemon.argv
    argv[argv.index("n1")] = host.node_id = "n2"
    host.start()
    return volume


def test_a_renamed_host_deletes_its_volumes(host, renamed):
    assert published(renamed) == "n1:1:rw"
    renamed.delete()
    assert host.leaves() == []


def test_a_renamed_host_uses_its_volumes(host, renamed):
    renamed.attach()
    assert published(renamed) == "n2:1:rw"
    with refused(CODE.FAILED_PRECONDITION, naming="n2"):
        renamed.delete()
    renamed.stage()
    renamed.publish()
    renamed.down().delete()


def test_a_renamed_host_keeps_what_is_mounted(host, renamed):
    renamed.stage()
    with refused(CODE.FAILED_PRECONDITION, naming=renamed.staging):
        renamed.delete()
    renamed.unstage()
