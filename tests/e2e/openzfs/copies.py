# SPDX-License-Identifier: MPL-2.0
"""Hosts that keep copies of each other's volumes."""
import contextlib
import os
import subprocess
from pathlib import Path

from client import MIB, PATIENCE, topology
from daemon import BUILD, wait_for
from host import get, run, Volume

# The words by which a Gate holds `zfs receive`; "receive" alone would also match the property
# receive_resume_token in a `zfs get`.
RECEIVE = "receive -s"


class Pair:
    """Hosts, two or more, whose zcsi-nodes know each other. By default the first has the volume and
    the second its copy. `words` are the options of zcsi by which it reaches their agents."""

    def __init__(self, hosts, words=None):
        self.hosts = hosts
        self.owner, self.other = hosts[:2]
        self.words = words or [word for host in hosts
                               for word in ("--agent", f"unix://{host.agent_socket}")]
        for host in reversed(hosts):
            host.start()

    def argv(self, *args):
        return [BUILD / "zcsi", "--timeout", str(10 * PATIENCE), *self.words, *args]

    def run(self, *args):
        return subprocess.run(self.argv(*args), capture_output=True, text=True, check=False)

    def begin(self, *args):
        return subprocess.Popen(self.argv(*args), stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def zcsi(self, *args, status=0):
        done = self.run(*args)
        assert done.returncode == status, done
        return done.stderr if status else done.stdout

    def copies(self, status=0):
        """Return (volume, owner, node of the copy, state) of each copy."""
        rows = [line.split("\t") for line in
                self.zcsi("copies", "-Hp", status=status).splitlines()]
        return [(row[0], row[1], row[2], row[6]) for row in rows]

    def replica(self, leaf="data", host=None):
        return (host or self.other).dataset(f"_replica/{leaf}")

    def newest(self, dataset):
        names = run("zfs", "list", "-Hp", "-d", "1", "-t", "snapshot", "-o", "guid", "-S",
                    "createtxg", dataset)
        return names.split()[0]

    def settled(self, count=1):
        """True if there are at least `count` copies, all are up to date, and no push runs."""
        rows = [line.split("\t") for line in
                self.run("copies", "-Hp").stdout.splitlines()]
        return len(rows) >= count and all(row[6] == "ok" for row in rows)

    def in_step(self, leaf="data"):
        """True if the volume and its copy on the second host have the same newest snapshot, and
        nothing was written since."""
        volume = self.owner.dataset(leaf)
        return self.newest(volume) == self.newest(self.replica(leaf)) and \
            get(volume, "written") == "0" == get(self.replica(leaf), "written")

    def sync(self, leaf="data"):
        """Push a volume, and wait until no push runs: a push that ran before may be followed by
        another one."""
        self.zcsi("sync", leaf)
        wait_for(self.settled, "no push runs")

    def add(self, leaf="data"):
        self.zcsi("copy", "add", leaf, "n2")
        self.sync(leaf)


def create(volume, parameters=(), node="n1"):
    volume.create(parameters=dict(parameters), accessibility_requirements=topology(node))
    return volume


def own(dataset):
    """Return the names of the dataset's snapshots and bookmarks that zcsi has made for copies."""
    names = run("zfs", "list", "-Hd1", "-t", "snapshot,bookmark", "-o", "name", dataset).split()
    return [name for name in names if "_repl-" in name]


def write(volume, name, size=2 * MIB):
    Path(volume.target, name).write_bytes(os.urandom(size))


@contextlib.contextmanager
def in_use(pair, size=64 * MIB, volume=None):
    """Within the block, a volume of the first host is staged and published: `data`, or the given
    one."""
    made = create(volume or Volume(pair.owner, "data", size=size))
    for step in (made.attach, made.stage, made.publish):
        step()
    yield made
    made.down()
