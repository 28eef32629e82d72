# SPDX-License-Identifier: MPL-2.0
"""Measurement of moves: a volume that is in use on one host is detached there and attached on the
other one, which has a copy, in ROUNDS (10) turns with what this would cost at least: umount, a zfs
snapshot, zfs send and zfs receive, and mount. 1 MiB was written since the last push. These are
figures, not tests: a slow result is no failure. Both hosts are in one machine, with a network and a
pool each."""
import contextlib
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from copying import Hosts, two_hosts

from client import MIB
from copies import create, write
from daemon import wait_for
from host import Volume, run
from test_follow import down, of, up

ROUNDS = int(os.environ.get("ROUNDS", "10"))
SECONDS, PROGRAMS = 5, 12  # the bounds


class ByZcsi:
    def __init__(self, hosts):
        hosts[0].controller_daemon.argv += ["--agent", f"unix://{hosts[1].agent_socket}"]
        for host in reversed(hosts):
            host.start()
        self.hosts = hosts
        create(Volume(hosts[0], "data"), {"replicas": "2", "sync_every": "1h"})
        self.here, self.there = (of(Hosts(hosts), host) for host in hosts)
        up(self.here)

    def is_synced(self):
        [push] = self.here.host.agent.ListPushes(id="data").pushes
        return push.synced and not push.running

    def prepare(self):
        """The copy lacks the last MiB alone, and no program runs."""
        self.here.host.agent.Push(id="data")
        wait_for(self.is_synced, "the copy is up to date")
        write(self.here, "data", MIB)

    def move(self):
        """Returns seconds and programs."""
        marks = [host.node_daemon.mark() for host in self.hosts]
        begun = time.monotonic()
        down(self.here)
        up(self.there)
        took = time.monotonic() - begun
        programs = sum(line["msg"] == "program was run" for host, mark in zip(self.hosts, marks)
                       for line in host.node_daemon.log()[mark:])
        self.here, self.there = self.there, self.here
        return took, programs


class ByHand:
    def __init__(self, hosts, folder):
        self.here, self.there = (host.dataset("by-hand") for host in hosts)
        self.target, self.count = folder, 0
        run("zfs", "create", "-o", "mountpoint=legacy", self.here)
        run("mount", "-t", "zfs", self.here, folder)
        self.base = None

    def send(self):
        self.count += 1
        snapshot = f"{self.here}@{self.count}"
        since = ("-i", f"{self.here}@{self.base}") if self.base else ()
        run("zfs", "snapshot", snapshot)
        with subprocess.Popen(["zfs", "send", *since, snapshot], stdout=subprocess.PIPE) as send:
            subprocess.run(["zfs", "receive", "-u", "-o", "mountpoint=legacy", self.there],
                           stdin=send.stdout, check=True)
        assert send.returncode == 0
        self.base = self.count

    def prepare(self):
        self.send()
        Path(self.target, "data").write_bytes(os.urandom(MIB))

    def move(self):
        """Returns seconds and programs."""
        begun = time.monotonic()
        run("umount", self.target)
        self.send()
        run("mount", "-t", "zfs", self.there, self.target)
        self.here, self.there = self.there, self.here
        return time.monotonic() - begun, 5


def compare_moves(hosts, folder):
    sides = (ByZcsi(hosts), ByHand(hosts, folder))
    rows = ([], [])
    for _ in range(ROUNDS):
        for side, row in zip(sides, rows):
            side.prepare()
            row.append(side.move())
    run("umount", folder)
    print_moves(*([statistics.median(column) for column in zip(*row)] for row in rows))


def print_moves(ours, bare):
    print(f"{'a move':12} {'zcsi':>8} {'by hand':>8} {'ratio':>6}")
    for name, one, other, bound in zip(("seconds", "programs"), ours, bare, (SECONDS, PROGRAMS)):
        print(f"{name:12} {one:8.2f} {other:8.2f} {one / other:6.2f}{'' if one < bound else '  *'}")
    print(f"* not under {SECONDS} s in an emulated machine, not under {PROGRAMS} programs")


def main():
    with tempfile.TemporaryDirectory(prefix="zcsi-bench-") as name, \
            tempfile.TemporaryDirectory(prefix="zcsi-by-hand-") as target, \
            contextlib.ExitStack() as stack, two_hosts(stack, Path(name)) as hosts:
        compare_moves(hosts, target)


if __name__ == "__main__":
    main()
