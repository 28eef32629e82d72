# SPDX-License-Identifier: MPL-2.0
"""Measurement of what CSI adds to zfs. Compared are: each call with the command that does the same
work with the same properties, in turns and in one run; many concurrent creations with as many
concurrent commands; the number of processes of each call with that of other drivers; and the start
of a zcsi-node with SCALE volumes (200) of SNAPSHOTS snapshots each (10) with the bare commands that
list them. Counted is how often idle daemons wake. These are figures, not tests: a slow result is no
failure."""
import contextlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from daemon import Daemon, wait_for  # noqa: E402
from host import Host, run, SIZE, Volume  # noqa: E402
from pool import Pools  # noqa: E402
from processes import during  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", 15))
MANY, WIDTH = 200, 8  # the width is the number of zcsi-node's workers
BAR = 1.2
SCALE, SNAPSHOTS = (int(os.environ.get(name, few)) for name, few in
                    (("SCALE", 200), ("SNAPSHOTS", 10)))
STARTS = 3
QUIET_S, IDLE_S = 70, 120  # before idle daemons are watched, and for how long
LONGEST = 900  # seconds until a node has read the pool
# The messages of a node that starts: from then on it finds one volume, all volumes, all snapshots.
STEPS = {"one volume": "parent is read", "all volumes": "volumes are read",
         "all snapshots": "pool is ready"}
# A channel program, zfs-program(8), that lists all snapshots in the kernel. The kernel opens the
# dataset anew for each of its snapshots.
NAMES = """
local names = {}
for dataset in zfs.list.children((...).argv[1]) do
    for snapshot in zfs.list.snapshots(dataset) do names[#names + 1] = snapshot end
end
return #names
"""
ZFS = shutil.which("zfs")

# Processes per call of other drivers, counted in their sources; democratic-csi runs each command in
# a shell.
OTHERS = {
    "create": ("8 + 4 shells", "2"), "snapshot": ("5", "2"), "expand": ("1-2", "1"),
    "delete": ("2-4", "3"), "stage": ("2 + mount", "1 + mount"),
}


def zfs(*argv):
    """Run zfs as the cheapest possible child process, so that the comparison is with zfs alone."""
    subprocess.run([ZFS, *argv], check=True, close_fds=False)


def as_options(properties):
    return [word for name, value in properties.items() for word in ("-o", f"{name}={value}")]


def properties(leaf):
    """Returns the properties of a new volume."""
    parameters = "_61ttach_3Dlocal_0Aprovisioning_3Dthin_0A"
    return as_options({"canmount": "noauto", "mountpoint": "legacy", "refquota": SIZE,
                       "zcsi:version": 1, "zcsi:volume": leaf, "zcsi:parameters": parameters})


class Pair:
    """A volume made through CSI, and the same dataset made with zfs(8); each has a clone."""

    def __init__(self, host, bare, n):
        self.host = host
        self.volume, self.copy = Volume(host, f"v{n}"), Volume(host, f"c{n}")
        self.bare, self.bare_copy = f"{bare}/v{n}", f"{bare}/c{n}"

    def snapshots(self, prefix):
        """Return how to take a snapshot through CSI, and by the bare command. That of a volume that
        is mounted nowhere has the kernel mount it, to replay an intent log."""
        name = f"{prefix}-{self.volume.id}"
        return (lambda: self.host.controller.CreateSnapshot(source_volume_id=self.volume.id,
                                                            name=name),
                lambda: zfs("snapshot", *as_options({"zcsi:version": 1, "zcsi:size": SIZE,
                                                     "zcsi:snapshot": name}),
                            f"{self.bare}@{prefix}"))

    @contextlib.contextmanager
    def mounted(self):
        self.volume.attach()
        self.volume.stage()
        with tempfile.TemporaryDirectory() as folder:
            run("mount", "-t", "zfs", self.bare, folder)
            yield
            run("umount", folder)
        self.volume.unstage()
        self.volume.detach()

    def steps(self):
        """Returns (name, call through CSI, bare command) in an order in which each is possible."""
        name = self.volume.id
        source = {"snapshot": {"snapshot_id": f"{name}@s-{name}"}}
        yield ("create", self.volume.create,
               lambda: zfs("create", *properties(name), self.bare))
        yield ("snapshot", *self.snapshots("s"))
        with self.mounted():
            yield ("  while mounted", *self.snapshots("t"))
        yield ("delete snapshot",
               lambda: self.host.controller.DeleteSnapshot(snapshot_id=f"{name}@t-{name}"),
               lambda: zfs("destroy", f"{self.bare}@t"))
        yield ("clone",
               lambda: self.copy.create(volume_content_source=source),
               lambda: zfs("clone", *properties(self.copy.id), f"{self.bare}@s", self.bare_copy))
        yield ("expand",
               lambda: self.volume.expand(2 * SIZE),
               lambda: zfs("set", f"refquota={2 * SIZE}", self.bare))
        yield ("delete", self.copy.delete, lambda: zfs("destroy", self.bare_copy))


def timed(step):
    start = time.monotonic()
    step()
    return (time.monotonic() - start) * 1000


def print_row(name, ours, bare):
    ratio = ours / bare
    print(f"{name:16} {ours:9.1f} ms {bare:8.1f} ms {ratio:7.2f}{'' if ratio <= BAR else '  *'}",
          flush=True)


def compare_calls(host, bare):
    rows = {}
    for n in range(ROUNDS):
        for name, ours, alone in Pair(host, bare, n).steps():
            both = rows.setdefault(name, ([], []))
            # in turns, so that neither always profits from caches that the other has filled
            for side in (0, 1) if n % 2 else (1, 0):
                both[side].append(timed((ours, alone)[side]))
    print(f"{'':16} {'through CSI':>12} {'bare zfs':>11} {'ratio':>7}   * more than {BAR}")
    for name, (ours, alone) in rows.items():
        print_row(name, statistics.median(ours), statistics.median(alone))


def compare_many(host, bare):
    volumes = [Volume(host, f"m{n}") for n in range(MANY)]
    leaves = "\n".join(f"{bare}/m{n}" for n in range(MANY))

    def through_csi():
        for call in [volume.start_create(timeout=600) for volume in volumes]:
            call.result()

    def by_xargs():
        run("xargs", "-P", str(WIDTH), "-n", "1", ZFS, "create", *properties("m"), input=leaves)

    print_row(f"{MANY} at once", timed(through_csi), timed(by_xargs))


def count_processes(host):
    volume, copy = Volume(host, "counted"), Volume(host, "copied", 2 * SIZE)
    source = {"volume": {"volume_id": volume.id}}
    steps = {
        "create": volume.create, "attach": volume.attach, "stage": volume.stage,
        "publish": volume.publish, "expand": lambda: volume.expand(2 * SIZE),
        "unpublish": volume.unpublish, "unstage": volume.unstage, "detach": volume.detach,
        "snapshot": lambda: host.controller.CreateSnapshot(source_volume_id=volume.id, name="s"),
        "clone": lambda: copy.create(volume_content_source={"snapshot": {
            "snapshot_id": f"{volume.id}@s"}}),
        "delete": copy.delete,
        "clone a volume":
            lambda: Volume(host, "other", 2 * SIZE).create(volume_content_source=source),
    }
    print(f"\n{'processes':16} {'zcsi':>5} {'democratic-csi':>15} {'zfs-localpv':>12}")
    for name, step in steps.items():
        theirs = OTHERS.get(name, ("", ""))
        print(f"{name:16} {len(during(host.node_daemon, step)):5} {theirs[0]:>15} {theirs[1]:>12}")


def populate(parent):
    """Create the volumes and their snapshots, like those of zcsi."""
    run("zfs", "create", "-o", "mountpoint=none", parent)
    with ThreadPoolExecutor(WIDTH) as many:
        list(many.map(lambda n: run("zfs", "create", *properties(f"v{n}"), f"{parent}/v{n}"),
                      range(SCALE)))
    for n in range(SNAPSHOTS):
        run("zfs", "snapshot", "-r", *as_options({
            "zcsi:version": 1, "zcsi:snapshot": f"s{n}", "zcsi:size": SIZE}), f"{parent}@s{n}")


def start_node(parent, folder):
    """Start a node and stop it. Returns the milliseconds until each of STEPS, and the command with
    which the node has read the pool last."""
    node = Daemon("zcsi-node", folder, "--node-id", "n1", "--dataset", parent)
    node.log_path.unlink(missing_ok=True)
    start = time.time()
    node.spawn()
    last = list(STEPS.values())[-1]
    wait_for(lambda: last in node.text(), last, LONGEST, pause=0.1)
    node.stop()
    said = {step: next(line for line in node.log() if message in line["msg"])
            for step, message in STEPS.items()}
    times = {step: (datetime.fromisoformat(line["time"]).timestamp() - start) * 1000
             for step, line in said.items()}
    return times, [argv for argv in node.runs() if argv.startswith("zfs get -rHp ")][-1]


def compare_start(pool, folder):
    parent, rows = f"{pool}/start", {}
    populate(parent)
    program = Path(folder, "names.lua")
    program.write_text(NAMES, encoding="ascii")
    for _ in range(STARTS):
        times, reading = start_node(parent, folder)
        bare = {
            "zfs list -d 1, volumes": ["zfs", "list", "-Hp", "-d", "1", "-t", "filesystem,volume",
                                       "-o", "name,guid,used", parent],
            "zfs list -t snapshot, names": ["zfs", "list", "-rH", "-t", "snapshot", "-o", "name",
                                            "-s", "name", parent],
            "zfs program, names": ["zfs", "program", "-n", "-t", "100000000", pool, program,
                                   parent],
            "zfs get -r, as the node does": reading.split(),
        }
        times.update({name: timed(lambda words=argv: run(*words)) for name, argv in bare.items()})
        for name, took in times.items():
            rows.setdefault(name, []).append(took)
    print(f"\nstart with {SCALE} volumes and {SCALE * SNAPSHOTS} snapshots; ratio to reading all")
    whole = statistics.median(rows["zfs get -r, as the node does"])
    for name, took in rows.items():
        took = statistics.median(took)
        print(f"{name:32} {took:9.1f} ms {took / whole:7.2f}", flush=True)


def wake_ups(daemon):
    """How often threads of the daemon were woken until now."""
    return sum(int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", task.read_text(), re.M)[1])
               for task in Path(f"/proc/{daemon.process.pid}/task").glob("*/status"))


def count_wake_ups(host):
    daemons = {"zcsi-node": host.node_daemon, "zcsi-controller": host.controller_daemon}
    time.sleep(QUIET_S)
    before = {name: wake_ups(daemon) for name, daemon in daemons.items()}
    time.sleep(IDLE_S)
    print(f"\nwake-ups in {IDLE_S} idle seconds, of one host whose controller calls a roll")
    for name, daemon in daemons.items():
        print(f"{name:32} {wake_ups(daemon) - before[name]:9}", flush=True)


@contextlib.contextmanager
def a_pool():
    with tempfile.TemporaryDirectory(prefix="zcsi-bench-") as folder, \
            contextlib.closing(Pools(folder)) as pools:
        yield pools.create(f"bench{os.getpid()}", 1024 + SCALE * (1 + SNAPSHOTS) // 8), folder


@contextlib.contextmanager
def a_host(pool):
    """A host with a further dataset beside its parent, for datasets made with zfs(8)."""
    bare = f"{pool}/bare"
    run("zfs", "create", "-o", "mountpoint=none", bare)
    with contextlib.closing(Host(pool)) as host:
        yield host.start(), bare


def compare_with_zfs():
    with a_pool() as (pool, folder):
        with a_host(pool) as (host, bare):
            compare_calls(host, bare)
            compare_many(host, bare)
            count_processes(host)
            count_wake_ups(host)
        compare_start(pool, folder)


if __name__ == "__main__":
    compare_with_zfs()
