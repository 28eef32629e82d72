# SPDX-License-Identifier: MPL-2.0
"""`zcsi doctor` with backups: a fault is planted and found, the command that the finding names is
typed, and it is not found again."""
import pytest

from copies import in_use, write
from daemon import wait_for
from host import get, run
from test_backup import backup, taken
from test_doctor import doctor, mended


@pytest.fixture
def volume(pair):
    """A volume of n1 that a workload uses, with a backup on n2 that was read back."""
    with in_use(pair) as made:
        write(made, "one")
        pair.zcsi("backup", "add", "data", "n2")
        pair.zcsi("backup", "verify", "data")
        assert doctor(*pair.hosts) == []
        yield made


def test_an_unverified_backup_is_reported(pair, volume):
    run("zfs", "inherit", "zcsi:verified", backup(pair.other))
    mended(pair.hosts, text="its backup was never read back", effect="note", volume="data",
           node="n2", type="zcsi backup verify data n2")
    assert doctor(*pair.hosts) == []


def test_a_failed_backup_is_reported(pair, volume):
    pair.owner.node_daemon.kill()
    task = pair.other.agent.RunBackup(id="data").task  # as by its schedule
    wait_for(lambda: pair.other.agent.GetBackupTask(task=task).ended, "the run has ended", 120)
    pair.owner.start_node()
    wait_for(lambda: pair.owner.agent.GetDataset(id="data"), "the owner is back")
    mended(pair.hosts, text="its backup failed: ", effect="may stop", volume="data", node="n2",
           type="zcsi backup run data n2")
    assert doctor(*pair.hosts) == []


def test_a_backup_that_no_stream_continues_is_reported(pair, volume):
    """The old backup stays, under another name."""
    run("zfs", "destroy", f"{pair.owner.dataset('data')}#_backup-n2")
    pair.zcsi("backup", "run", "data", status=1)
    old, kept = taken(backup(pair.other)), f"{pair.other.parent.split('/')[0]}/data-backup"
    mended(pair.hosts, text="no snapshot in common", effect="may stop", volume="data", node="n2",
           type=f"zfs rename {backup(pair.other)} {kept}")
    assert taken(kept) == old
    run("zfs", "destroy", "-r", kept)
    pair.zcsi("backup", "add", "data", "n2")
    assert [each.effect for each in doctor(*pair.hosts)] == ["note"]


def test_a_backup_without_its_volume_is_reported(pair, volume):
    run("zfs", "set", "zcsi:backup_every=60", backup(pair.other))  # the next run is soon, and fails
    volume.down()
    volume.delete()
    volume.down = lambda: None
    wait_for(lambda: "data" not in pair.owner.leaves(), "the volume is gone")
    mended(pair.hosts, text="it is on no node any more, and its backup is of", effect="waits",
           volume="data", node="n2", type="zcsi backup restore data --node n2")
    assert get(pair.other.dataset("data"), "type") == "filesystem"


def test_an_unreadable_backup_is_reported(new_pair, gate):
    with new_pair(other_env=gate.env) as pair, in_use(pair) as volume:
        write(volume, "one")
        pair.zcsi("backup", "add", "data", "n2")
        gate.hold("send -Lc")
        running = pair.begin("backup", "verify", "data")
        gate.arrived()
        gate.kill()
        gate.open()
        assert running.wait() == 1
        mended(pair.hosts, text="its backup could not be read back", effect="may stop",
               volume="data", node="n2", type="zcsi backup verify data n2")
        assert doctor(*pair.hosts) == []
