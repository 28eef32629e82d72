# SPDX-License-Identifier: MPL-2.0
"""--dry-run of each command that changes something: nothing changes, neither in ZFS nor in what an
agent has promised. What the commands print is tested in tests/unit/controller too."""
import json
import re
import subprocess
from pathlib import Path

import pytest

from daemon import BUILD
from host import KERNEL_ZFS, run, Volume
from snapshots import restore, take
from test_cli import rows, zcsi

COMMANDS = Path(__file__).resolve().parents[2] / "controller/cli/command.c"
# Properties that ZFS itself changes a while after a write.
COUNTED = re.compile("used|available|referenced|written|logical|.*compressratio")

OPENZFS_ONLY = {
    "copy add": "would keep a copy of volume 'data' of node 'n1' on node 'n2'\n",
    "backup add": "would keep a backup of volume 'data' on node 'n2', and pull from node 'n1' what "
                  "it lacks, --every 1d\n",
} if KERNEL_ZFS else {}
# Command lines, and what each prints, "" for a table; None: what the pool or the state of the
# volumes forbids, which the command has to find out by reading.
LINES = {
    "resize data 16M": "would resize volume 'data' on node 'n1' from 8.00M to 16.0M\n",
    "modify data zfs.atime=off keep=daily=3":
        "would set zfs.atime=off keep=daily=3 of volume 'data' on node 'n1'\n",
    "snapshot data tuesday": "would take snapshot 'tuesday' of volume 'data' on node 'n1'\n",
    "snapshot data@monday --drop":
        "would destroy snapshot 'data@monday' of volume 'data' on node 'n1'\n",
    "snapshot data@hand --drop": None,
    "restore data@monday --as new": "would make volume 'new' of 8.00M on node 'n1', a clone of "
                                    "snapshot 'data@monday' of volume 'data'\n",
    "restore data@monday --as copy": None,
    "restore data@monday": None,
    "adopt films --node n1 --size 8M":
        "would make what node 'n1' received as 'films' a volume\n",
    "adopt none --node n1 --size 8M": None,
    "receive new --node n1 --size 8M":
        "would receive the stream on node 'n1', and make the volume 'new' of it\n",
    "trash restore old": "would make the deleted volume 'old' on node 'n1' a volume again\n",
    "trash empty": "",
    "unpublish data": "would detach volume 'data' from node 'n1'\n",
    "pause pushed": "would send nothing more of volume 'pushed' of node 'n1' to node 'n2'\n",
    "resume pushed": "would send again what is written to volume 'pushed' of node 'n1' to node "
                     "'n2'\n",
    "confirm pushed": "would use volume 'pushed' on node 'n1', even if nodes with copies do not "
                      "answer\n",
    "copy drop pushed n2": "",
    "copy add data n3": None,
    "copy add data n2": OPENZFS_ONLY.get("copy add"),
    "sync pushed": None,
    "sync data": None,
    "pause data": None,
    "move pushed n2": None,
    "move data n1": "would leave volume 'data' on node 'n1', which has it\n",
    "drain n1": None,
    "failover --lost n3": "",
    "rename plain fresh": "",
    "rename data fresh": None,
    "rollback data data@monday": None,
    "detach plain": "" if KERNEL_ZFS else None,
    "forget n9": None,
    "backup add data n2 --every 1d": OPENZFS_ONLY.get("backup add"),
    "backup run data": None,
    "backup verify data": None,
    "backup restore data": None,
    "backup drop data n2": None,
    "diverged mount data-0 /mnt": None,
    "diverged drop data-0": None,
    "snapshot mount data@monday /nonexistent": None,
}


@pytest.fixture
def full(new_host):
    """A host with a volume in each state that a command may find."""
    host = new_host(node_args=["--trash-ttl", "100000"]).start()
    data, old, pushed, plain = (Volume(host, name) for name in ("data", "old", "pushed", "plain"))
    for each in (data, old, pushed, plain):
        each.create()
    old.delete()
    take(data, "monday")
    run("zfs", "snapshot", f"{host.dataset('data')}@hand")
    restore(host, "data@monday")
    data.attach()
    run("zfs", "create", "-p", host.dataset("_received/films"))
    run("zfs", "snapshot", f"{host.dataset('_received/films')}@one")
    run("zfs", "set", "zcsi:members=00112233aabbccdd:300:n1,n2", host.dataset("pushed"))
    host.read_again()
    zcsi(host, "pause", "pushed")
    host.controller_daemon.kill()  # a roll call changes what agents promise
    return host


def state(host):
    """Return all properties in ZFS, the mounts, and the stored promise of the agent."""
    listed = run("zfs", "get", "-rHp", "-o", "name,property,value,source", "all", host.parent)
    lock = Path(f"/run/zcsi/{host.parent.replace('/', '_2F')}.lock")
    return ([row for row in rows(listed) if not COUNTED.match(row[1])], host.mounts(),
            lock.read_bytes())


def dry_run(host, other, line, data=b""):
    agents = (f"unix://{each.agent_socket}" for each in (host, other))
    words = [word for agent in agents for word in ("--agent", agent)]
    return subprocess.run([BUILD / "zcsi", *words, *line.split(), "--dry-run"], input=data,
                          capture_output=True, check=False)


def test_nothing_changes(full, other):
    other.controller_daemon.kill()
    stream = subprocess.run(
        [BUILD / "zcsi", "--agent", f"unix://{full.agent_socket}", "send", "data@monday"],
        capture_output=True, check=True).stdout
    before = state(full), state(other)
    for line, printed in LINES.items():
        done = dry_run(full, other, line, stream)
        said = done.stdout.decode()
        # A table of copies has the status of `zcsi copies`, since the volume is paused.
        status = 1 if printed is None else 3 if line.startswith("copy drop") else 0
        assert done.returncode == status, (line, done)
        assert said == printed if printed else not said.startswith("would"), (line, said)
        assert bool(done.stderr) == (printed is None), (line, done)
        assert (state(full), state(other)) == before, line


def test_each_command_that_has_the_option_is_tried():
    wanted = set()
    for name, rest in re.findall(r'^\t\{"([a-z]+)", (.*?)\},$', COMMANDS.read_text(), re.M | re.S):
        for found in re.findall(r"(?:([a-z]+)\.)?dry-run", rest):
            wanted.add(f"{name} {found}".strip())
    lines = [line.split() for line in LINES]
    tried = {name for words in lines for name in (words[0], " ".join(words[:2]))}
    assert len(wanted) > 25 and wanted <= tried


def test_sentences_are_json_too(host, volume):
    volume.create()
    printed = zcsi(host, "resize", "data", "16M", "--dry-run", "-o", "json")
    assert json.loads(printed)["dry_run"] == [
        {"would": "resize volume 'data' on node 'n1' from 8.00M to 16.0M"}]
