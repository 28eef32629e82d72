# SPDX-License-Identifier: MPL-2.0
"""Backups: a node pulls snapshots of a volume from its owner, and a volume is made of them."""
import os
import re
import time

import pytest

from client import MIB
from copies import create, in_use, Pair, write
from daemon import wait_for
from host import get, run, Volume
from test_copies import KEY
from test_move import content, make, owners, use

SIZE = 8 * MIB  # more than the pipes, sockets and HTTP/2 windows of a stream buffer


@pytest.fixture
def volume(pair):
    with in_use(pair) as made:
        yield made


def backup(host, leaf="data"):
    return host.dataset(f"_backup/{leaf}")


def taken(dataset, kind="snapshot"):
    """Return the leafs of the dataset's snapshots, or bookmarks, that were taken for a backup."""
    names = run("zfs", "list", "-Hd1", "-t", kind, "-o", "name", "-s", "createtxg", dataset)
    return [re.split("[@#]", name)[1] for name in names.split() if "_backup-" in name]


def rows(pair, status=0):
    """Return (volume, node, from, number of snapshots, state) of each backup."""
    done = pair.run("backup", "list", "-Hp")
    assert done.returncode == status, done
    table = [line.split("\t") for line in done.stdout.splitlines()]
    return [(row[0], row[1], row[2], int(row[4]), row[9]) for row in table]


def sends(host, start):
    """Return the `zfs send` that the host has estimated since a mark in its log."""
    return [argv for argv in host.node_daemon.runs(start) if " send -n" in argv]


def only(host):
    """Return a Pair of which only this host is left."""
    survivor = Pair.__new__(Pair)
    survivor.hosts, survivor.owner = [host], host
    survivor.words = ["--agent", f"unix://{host.agent_socket}"]
    return survivor


def lose(pair):
    """Lose the first host, with its pool, for good, and tell the second one so. Returns a Pair of
    the second one alone."""
    pair.owner.node_daemon.kill()
    host = pair.other
    host.controller_daemon.stop()
    agents = [f"unix://{each.agent_socket}" for each in pair.hosts]
    host.controller_daemon.argv = [word for word in host.controller_daemon.argv
                                   if word != agents[0]]
    known = [each for each in host.agent.ListKnownHosts().hosts if each.node_id == "n1"]
    for each in known:
        each.forgotten, each.stamp = True, each.stamp + 1
    host.agent.KeepHosts(hosts=known)
    return only(host)


def test_a_backup_is_pulled_and_continued(pair, volume):
    """The backup is no volume, and the owner keeps only a bookmark for it. The deletion of the
    volume leaves it as it is."""
    name = pair.owner.dataset("data")
    write(volume, "one")
    assert "add one with" in pair.zcsi("backup", "run", "data", status=1)
    assert "itself" in pair.zcsi("backup", "add", "data", "n1", status=1)
    pair.zcsi("backup", "add", "data", "n2")
    [first] = taken(backup(pair.other))
    assert not taken(name) and taken(name, "bookmark") == ["_backup-n2"]
    guid = get(f"{name}#_backup-n2", "guid")
    assert get(f"{backup(pair.other)}@{first}", "guid") == guid
    write(volume, "two")
    start = pair.owner.node_daemon.mark()
    pair.zcsi("backup", "run", "data")
    [argv] = sends(pair.owner, start)
    assert " -i " in argv and "#_backup-n2" in argv
    assert rows(pair) == [("data", "n2", "n1", 2, "ok")]
    assert [line.split("\t")[3] for line in pair.zcsi("backup", "list", "data", "-Hp").splitlines()
            ] == taken(backup(pair.other))[::-1]
    for key, value in (("readonly", "on"), ("canmount", "off"), ("mounted", "no")):
        assert get(backup(pair.other), key) == value
    assert pair.owner.ids() == ["data"] and not pair.other.agent.ListDatasets().datasets
    volume.down()
    volume.delete()
    wait_for(lambda: "data" not in pair.owner.leaves(), "the volume is gone")
    shown = pair.zcsi("backup", "drop", "data", "n2", "--dry-run", "-Hp")
    assert shown.split("\t")[:3] == ["data", "n2", "n1"]
    assert rows(pair) == [("data", "n2", "n1", 2, "ok")]
    line = "zcsi backup drop data n2 --destroy 2"
    assert line in pair.zcsi("backup", "drop", "data", "n2", status=3)
    assert line in pair.zcsi("backup", "drop", "data", "n2", "--destroy", "1", status=1)
    assert rows(pair) == [("data", "n2", "n1", 2, "ok")]
    pair.zcsi(*line.split()[1:])
    assert not rows(pair) and "_backup/data" not in pair.other.leaves()
    create(volume)


def test_a_new_volume_has_a_backup(pair):
    """A second CreateVolume does not change the rules that an operator gave the backup, and makes
    one again that was dropped."""
    wanted = {"backup": "n2", "backup_every": "6h", "backup_keep": "daily=7"}
    volume = Volume(pair.owner, "data", size=64 * MIB)

    def complete():
        return rows(pair) == [("data", "n2", "n1", 1, "ok")]
    volume.create(parameters=wanted)
    assert pair.owner.ids() == ["data"]
    wait_for(complete, "the backup has all data")
    rules = [get(backup(pair.other), f"zcsi:backup_{each}") for each in ("every", "keep")]
    assert rules == ["21600", "daily=7"]
    pair.zcsi("backup", "add", "data", "n2", "--every", "1d", "--keep", "none")
    volume.create(parameters=wanted)
    assert get(backup(pair.other), "zcsi:backup_every") == "86400"
    pair.zcsi("backup", "drop", "data", "n2", "--destroy", "1")
    volume.create(parameters=wanted)
    wait_for(complete, "the new backup has all data")
    assert get(backup(pair.other), "zcsi:backup_every") == "21600"
    volume.delete()


@pytest.mark.parametrize("kind", ["zfs", "encrypted", "ext4"])
def test_a_lost_volume_is_restored_from_its_backup(pair, kind):
    """The volume gets its name, size and parameters back, and the backup stays."""
    secrets = {"encryption_key": KEY} if kind == "encrypted" else {}
    parameters = {"zfs.compression": "off", "keep": "daily=3"}
    made = make(pair.owner, "ext4" if kind == "ext4" else "zfs")
    made.secrets = secrets
    if secrets:
        parameters["zfs.encryption"] = "aes-256-gcm"
    create(made, parameters)
    use(pair.owner, made)
    write(made, "one")
    os.sync()
    pair.zcsi("backup", "add", "data", "n2")
    write(made, "two")
    os.sync()
    wanted = content(made)
    record = pair.owner.agent.GetDataset(id="data").dataset
    pair.zcsi("backup", "run", "data")
    [older, newest] = taken(backup(pair.other))
    if secrets:
        assert get(backup(pair.other), "keystatus") == "unavailable"
        assert get(backup(pair.other), "encryptionroot") == backup(pair.other)
    made.down()
    assert "exists on node 'n1'" in pair.zcsi("backup", "restore", "data", status=1)
    pair.owner.node_daemon.kill()
    for words in (("data",), ("data", "--as", "other")):
        assert "all agents must answer" in pair.zcsi("backup", "restore", *words, status=1)
    left = lose(pair)
    left.zcsi("backup", "restore", "data")
    found = left.owner.agent.GetDataset(id="data").dataset
    assert (found.size, found.parameters, found.format) == \
        (record.size, record.parameters, record.format)
    name = left.owner.dataset("data")
    assert get(name, "readonly") == "off" and get(name, "compression") == "off"
    assert get(name, "zcsi:keep") == "daily=3" and get(name, "origin") == "-"
    left.zcsi("backup", "restore", f"data@{older}", "--as", "drill")
    left.owner.start_controller()
    heirs = [Volume(left.owner, leaf) for leaf in ("data", "drill")]
    for heir in heirs:
        heir.secrets = secrets
        use(left.owner, heir)
    assert content(heirs[0]) == wanted
    assert content(heirs[1]) == {key: wanted[key] for key in wanted if key != "two"}
    write(heirs[0], "three")
    for heir in heirs:
        heir.down()
    assert taken(backup(left.owner)) == [older, newest]
    assert "exists on node 'n2'" in left.zcsi("backup", "restore", "data", status=1)


def test_an_interrupted_restore_is_continued(pair, volume):
    """The data was copied, and the caller ended before it made the volume. The volume gets the
    parameters of the old one."""
    write(volume, "one")
    record = pair.owner.agent.GetDataset(id="data").dataset
    pair.zcsi("backup", "add", "data", "n2")
    agent = pair.other.agent
    [state] = agent.ListBackups(id="data").backups
    guid = state.snapshots[0].guid
    task = agent.RestoreBackup(id="data", guid=guid, as_id="drill").task
    wait_for(lambda: agent.GetBackupTask(task=task).ended, "the data is copied")
    received = pair.other.dataset("_received/drill")
    before = get(received, "guid")
    pair.zcsi("backup", "run", "data")
    [newest, _] = agent.ListBackups(id="data").backups[0].snapshots
    said = pair.zcsi("backup", "restore", f"data@{newest.name}", "--as", "drill", status=1)
    assert "was received before" in said
    assert rows(pair) == [("data", "n2", "n1", 2, "ok")]
    older = state.snapshots[0].name
    pair.zcsi("backup", "restore", f"data@{older}", "--as", "drill")
    drill = agent.GetDataset(id="drill").dataset
    assert (drill.size, drill.parameters) == (record.size, record.parameters)
    assert get(pair.other.dataset("drill"), "guid") == before


def test_the_rules_of_a_backup_outlive_the_volume(pair):
    """They change though a run fails, and after the volume is deleted."""
    with in_use(pair) as volume:
        write(volume, "one")
        pair.zcsi("backup", "add", "data", "n2", "--every", "1d")
        run("zfs", "destroy", f"{pair.owner.dataset('data')}#_backup-n2")
        write(volume, "two")
        pair.zcsi("backup", "add", "data", "n2", "--every", "2d", status=1)
        assert get(backup(pair.other), "zcsi:backup_every") == "172800"
        pair.zcsi("backup", "verify", "data")
        [row] = rows(pair, status=3)
        assert "no snapshot in common" in row[4]
    volume.delete()
    wait_for(lambda: "data" not in pair.owner.leaves(), "the volume is gone")
    assert "does not exist" in pair.zcsi("backup", "add", "data", "n2", status=1)
    pair.zcsi("backup", "add", "data", "n2", "--every", "never", "--keep", "daily=3")
    rules = [get(backup(pair.other), f"zcsi:backup_{each}") for each in ("every", "keep")]
    assert rules == ["-1", "daily=3"]
    shown = pair.run("backup", "drop", "data", "n2", "--destroy", "1")
    assert shown.returncode == 0 and not shown.stderr, shown


def test_an_interrupted_stream_is_continued(pair, volume):
    """The owner's zcsi-node dies while it sends. The run fails, and the next one sends the rest,
    and what was written since."""
    write(volume, "one", SIZE)
    pair.zcsi("backup", "add", "data", "n2")
    write(volume, "two", 4 * SIZE)
    running = pair.begin("backup", "run", "data")
    wait_for(lambda: "%recv" in run("zfs", "list", "-Hro", "name", pair.other.parent) or
             get(backup(pair.other), "receive_resume_token") != "-", "data arrives")
    pair.owner.node_daemon.kill()
    assert running.wait() == 1
    pair.owner.start_node()
    wait_for(lambda: pair.owner.agent.GetDataset(id="data"), "the owner is back")
    token = get(backup(pair.other), "receive_resume_token")
    write(volume, "three")
    start = pair.owner.node_daemon.mark()
    pair.zcsi("backup", "run", "data")
    assert token == "-" or any(" -t " in argv for argv in sends(pair.owner, start))
    assert get(backup(pair.other), "receive_resume_token") == "-"
    name = pair.owner.dataset("data")
    assert get(f"{name}#_backup-n2", "guid") == pair.newest(backup(pair.other))
    assert get(f"{name}", "written#_backup-n2") == "0" and not taken(name)


def test_a_backup_that_no_stream_continues_is_kept(pair, volume):
    """A backup that has nothing in common with the volume stays as it is, and the error says what
    to do."""
    write(volume, "one")
    pair.zcsi("backup", "add", "data", "n2")
    write(volume, "two")
    pair.zcsi("backup", "run", "data")
    old = taken(backup(pair.other))
    run("zfs", "destroy", f"{pair.owner.dataset('data')}#_backup-n2")
    said = pair.zcsi("backup", "run", "data", status=1)
    assert "no snapshot in common" in said and "zcsi backup drop data n2" in said
    assert taken(backup(pair.other)) == old
    [row] = rows(pair, status=3)
    assert "no snapshot in common" in row[4]
    pair.zcsi("backup", "drop", "data", "n2", "--destroy", str(row[3]))
    pair.zcsi("backup", "add", "data", "n2")
    assert rows(pair) == [("data", "n2", "n1", 1, "ok")]


def test_a_backup_runs_and_is_thinned_by_itself(pair, volume):
    """The first snapshot of a year stays, and the newest one."""
    pair.zcsi("backup", "add", "data", "n2", "--keep", "yearly=1", "--every", "1m")
    [first] = taken(backup(pair.other))
    for name in ("one", "two"):
        write(volume, name)
        pair.zcsi("backup", "run", "data")
    [kept, second] = taken(backup(pair.other))
    assert kept == first
    write(volume, "three")
    wait_for(lambda: taken(backup(pair.other))[-1] != second, "a run by itself", 240)
    wait_for(lambda: rows(pair) == [("data", "n2", "n1", 2, "ok")], "the run has ended")
    pair.zcsi("backup", "add", "data", "n2", "--keep", "none", "--every", "never")
    assert rows(pair) == [("data", "n2", "n1", 3, "ok")]
    assert "60" in pair.zcsi("backup", "add", "data", "n2", "--every", "1s", status=1)
    assert "daily=30" in pair.zcsi("backup", "add", "data", "n2", "--keep", "7", status=1)


def test_a_backup_is_verified(new_pair, gate):
    """The time is recorded only after zfs has read all data."""
    with new_pair(other_env=gate.env) as pair, in_use(pair) as volume:
        write(volume, "one")
        assert "add one with" in pair.zcsi("backup", "verify", "data", status=1)
        pair.zcsi("backup", "add", "data", "n2")
        gate.hold("send -Lc")
        running = pair.begin("backup", "verify", "data")
        gate.arrived()
        gate.kill()
        gate.open()
        assert running.wait() == 1
        assert get(backup(pair.other), "zcsi:verified") == "-"
        [row] = rows(pair, status=3)
        assert "killed by signal 9" in row[4]
        pair.zcsi("backup", "verify", "data")
        assert abs(time.time() - int(get(backup(pair.other), "zcsi:verified"))) < 60
        assert rows(pair) == [("data", "n2", "n1", 1, "ok")]
        pair.zcsi("backup", "run", "data")


def test_a_backup_to_a_pool_without_room_is_refused(pair, volume):
    pair.zcsi("backup", "add", "data", "n2")
    run("zfs", "set", f"quota={MIB}", pair.other.parent)
    pair.other.rescan(lambda: True)
    write(volume, "much", SIZE)
    assert pair.zcsi("backup", "run", "data", status=1)
    assert get(backup(pair.other), "receive_resume_token") == "-"
    run("zfs", "set", "quota=none", pair.other.parent)
    pair.other.rescan(lambda: True)
    pair.zcsi("backup", "run", "data")
    assert len(taken(pair.owner.dataset("data"))) == 0


def test_a_backup_follows_the_volume_to_another_owner(trio):
    """n2 has a copy, and n3 the backup. After a move and after a failover the run sends a delta.
    Only nodes that --allow names may read volumes."""
    with in_use(trio) as volume:
        write(volume, "one")
        trio.add()
        assert "--allow zcsi.v1.Backup=n2" in trio.zcsi("backup", "add", "data", "n2", status=1)
        trio.zcsi("backup", "add", "data", "n3")
        trio.sync()
        write(volume, "two")
    wait_for(trio.settled, "no push runs")
    trio.zcsi("move", "data", "n2")
    assert owners(trio) == ["n2"]
    start = trio.other.node_daemon.mark()
    trio.zcsi("backup", "run", "data")
    pulls = [argv for argv in sends(trio.other, start) if "_backup-" in argv.split()[-1]]
    assert pulls and all(" -i " in argv for argv in pulls)
    trio.sync()  # the copy gets the snapshot of the backup
    trio.hosts[1].node_daemon.kill()
    trio.zcsi("failover", "data", "--lost", "n2", "--accept-loss", "1h")
    assert [host.node_id for host in trio.hosts if host.node_daemon.running() and
            host.agent.ListDatasets().datasets] == ["n1"]
    far = trio.hosts[2]
    task = far.agent.RunBackup(id="data").task  # as by the schedule: from whoever is the owner
    wait_for(lambda: far.agent.GetBackupTask(task=task).ended, "the run has ended", 120)
    assert not far.agent.GetBackupTask(task=task).error
    assert len(taken(backup(far))) == 3 and get(backup(far), "zcsi:backup") == "n1,n2"


def test_a_deleted_volume_keeps_nothing_for_backups(pair):
    """With copies, the owner keeps a snapshot for the backup too. It does not keep the deleted
    volume in the trash."""
    with in_use(pair) as volume:
        pair.add()
        pair.zcsi("backup", "add", "data", "n2")
        assert len(taken(pair.owner.dataset("data"))) == 1
        wait_for(pair.settled, "no push runs")
    volume.delete()
    pair.owner.rescan(lambda: not [leaf for leaf in pair.owner.leaves() if "_trash/" in leaf])
