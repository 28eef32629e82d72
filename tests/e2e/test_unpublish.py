# SPDX-License-Identifier: MPL-2.0
"""`zcsi unpublish`: the end of a publication that the orchestrator has lost. Mounts by NFS are in
openzfs/test_nfs.py."""
import pytest

from host import get, run
from test_cli import rows, zcsi

AWAY = "n2:5:rw:127.0.0.2"


def target(host):
    return f"unix://{host.agent_socket}"


def published(volume):
    return get(volume.host.dataset(volume.id), "zcsi:published")


def plant(volume, text):
    """Set the record of publications, as an orchestrator left it that was lost."""
    run("zfs", "set", f"zcsi:published={text}", volume.host.dataset(volume.id))
    volume.host.read_again()


def test_an_attached_volume_that_is_not_mounted_is_detached(host, volume):
    volume.create()
    volume.attach()
    assert zcsi(host, "unpublish", "data", "n1", "--dry-run") == (
        "would detach volume 'data' from node 'n1'\n")
    assert published(volume) == "n1:1:rw"
    assert zcsi(host, "unpublish", "data", "n1") == ""
    assert published(volume) == "-"
    said = zcsi(host, "unpublish", "data", "n1", status=1)
    assert "volume 'data' is attached to no node" in said
    volume.delete()
    assert host.leaves() == []


@pytest.mark.parametrize("step", ["stage", "publish"])
@pytest.mark.parametrize("words", [(), ("--force",)])
def test_a_mounted_volume_stays_attached(host, volume, step, words):
    volume.up()
    if step == "stage":
        volume.unpublish()
    said = zcsi(host, "unpublish", "data", *words, status=1)
    assert "it is mounted there at" in said and "stop the job" in said
    assert published(volume) == "n1:1:rw" and volume.staging in [at for at, _ in host.mounts()]


def test_an_idle_publication_ends(host, volume):
    volume.up()
    volume.unpublish()
    volume.unstage()
    assert published(volume) == "n1:1:rw-idle"
    zcsi(host, "unpublish", "data")
    assert published(volume) == "-"


def test_a_node_that_answers_is_asked(host, other, volume):
    volume.create()
    plant(volume, f"n1:5:rw,{AWAY}")
    said = zcsi(host, "unpublish", "data", agents=[target(other)], status=1)
    assert "attached to node 'n1', node 'n2': name the one" in said
    said = zcsi(host, "unpublish", "data", "n3", agents=[target(other)], status=1)
    assert "attached to node 'n1', node 'n2', and to no other" in said
    zcsi(host, "unpublish", "data", "n2", agents=[target(other)])
    assert published(volume) == "n1:5:rw"


def test_an_absent_node_needs_force(host, other, volume):
    volume.create()
    plant(volume, AWAY)
    said = zcsi(host, "unpublish", "data", status=1)
    assert "no agent that was asked is that of node 'n2'" in said
    other.node_daemon.kill()
    said = zcsi(host, "unpublish", "data", agents=[target(other)], status=1)
    assert "if it is off, run 'zcsi unpublish data n2 --force'" in said
    assert published(volume) == AWAY
    zcsi(host, "unpublish", "data", "n2", "--force")
    assert published(volume) == "-"


def test_a_local_use_does_not_keep_the_publication_of_a_silent_node(host, volume):
    volume.up()
    plant(volume, f"n1:5:rw,{AWAY}")
    zcsi(host, "unpublish", "data", "n2", "--force")
    assert published(volume) == "n1:5:rw"


def test_a_record_of_an_earlier_owner_ends_without_a_question(host, volume):
    """The volume was moved here by hand from a node that had it attached to itself."""
    volume.create()
    plant(volume, "n9:1:rw")
    zcsi(host, "unpublish", "data", "n9")
    assert published(volume) == "-"


def test_an_unreadable_record_needs_force(host, volume):
    volume.up()
    plant(volume, "nonsense")
    assert "cannot be read" in zcsi(host, "unpublish", "data", status=1)
    assert "it is mounted there at" in zcsi(host, "unpublish", "data", "--force", status=1)
    assert published(volume) == "nonsense"
    volume.unpublish()
    volume.unstage()
    zcsi(host, "unpublish", "data", "--force")
    assert published(volume) == "-"


def test_the_volume_of_a_silent_node_is_not_touched(host, other, volume):
    volume.create()
    volume.attach()
    host.node_daemon.kill()
    said = zcsi(other, "unpublish", "data", "n1", "--force", agents=[target(host)], status=1)
    assert "on no agent that answers" in said
    assert published(volume) == "n1:1:rw"
