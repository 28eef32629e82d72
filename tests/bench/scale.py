# SPDX-License-Identifier: MPL-2.0
"""Measurement of pools of different sizes: each value with ten volumes and with SCALE volumes
(10000), each with SNAPSHOTS snapshots (10), in one run, compared with the zfs command that no
daemon can beat. The pools are filled once and kept in BUILD/bench, which takes 7 GB. These are
figures, not tests: a slow result is no failure."""
import contextlib
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from client import capability, MIB, size_of  # noqa: E402
from daemon import BUILD, Daemon, wait_for  # noqa: E402
from host import run  # noqa: E402
from pool import host_sh  # noqa: E402

FEW = 10
SCALE, SNAPSHOTS = (int(os.environ.get(name, few)) for name, few in
                    (("SCALE", 10000), ("SNAPSHOTS", 10)))
CHANGES, LOOKUPS, PAGES, PAGE = 20, 400, 100, 100
PATIENCE = 900  # seconds for one scan of the pool
TAKE_OVER = 3   # seconds after which the node has surely applied what it has read
READING = "zfs get -rHp "
SIZE = 8 * MIB
PROPERTIES = {"canmount": "noauto", "mountpoint": "legacy", "refquota": SIZE, "zcsi:version": 1}


def say(text=""):
    """Print the progress: one line that is overwritten on a terminal, and lines elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    elif text:
        print(text, file=sys.stderr, flush=True)


def timed(step):
    """Returns the milliseconds that step() took, and its result."""
    start = time.monotonic()
    answer = step()
    return (time.monotonic() - start) * 1000, answer


def options(properties):
    return [word for name, value in properties.items() for word in ("-o", f"{name}={value}")]


# ---- the pools ----

def exists(dataset):
    return not subprocess.run(["zfs", "list", dataset], capture_output=True, check=False).returncode


def names(parent, kind):
    lines = run("zfs", "list", "-H", "-d", "1", "-t", kind, "-o", "name", parent).split()
    return {re.split("[/@]", line)[-1] for line in lines if line != parent}


def fill(pool, volumes):
    """Create the missing datasets. One `zfs snapshot -r` gives each volume a snapshot with local
    properties. They all have the same name, which CSI would not allow; no call here uses them."""
    parent = f"{pool}/zcsi"
    missing = sorted({f"v{n}" for n in range(1, volumes + 1)} - names(parent, "filesystem"))
    with ThreadPoolExecutor(8) as eight:
        made = eight.map(lambda leaf: run("zfs", "create", *options(
            {**PROPERTIES, "zcsi:volume": leaf}), f"{parent}/{leaf}"), missing)
        for count, _ in enumerate(made, 1):
            if count % (len(missing) // 20 or 1) == 0:
                say(f"{pool}: {count} of {len(missing)} volumes")
    missing = sorted({f"s{n}" for n in range(1, SNAPSHOTS + 1)} - names(parent, "snapshot"))
    for count, leaf in enumerate(missing, 1):
        say(f"{pool}: snapshot {count} of {len(missing)} of every volume")
        run("zfs", "snapshot", "-r", *options(
            {"zcsi:version": 1, "zcsi:snapshot": leaf, "zcsi:size": SIZE}), f"{parent}@{leaf}")


@contextlib.contextmanager
def filled(volumes):
    """Returns the pool with that number of volumes, created or imported; its file is kept."""
    folder, pool = BUILD / "bench", f"scale{volumes}x{SNAPSHOTS}"
    start = time.monotonic()
    say(f"{pool}: importing or making it")
    host_sh("host_pool_create", pool, 1024 + volumes * (1 + SNAPSHOTS) // 8, folder)
    try:
        if not exists(f"{pool}/filled"):
            fill(pool, volumes)
            run("zfs", "create", f"{pool}/filled")
        say(f"{pool}: there after {time.monotonic() - start:.0f} s, in {folder}")
        yield pool
    finally:
        wait_for(lambda: not subprocess.run(["zpool", "export", pool], check=False,
                                            capture_output=True).returncode, f"export of {pool}")


# ---- the daemons ----

def memory(daemon):
    """Returns the resident memory and its maximum so far, in MB."""
    text = Path(f"/proc/{daemon.process.pid}/status").read_text(encoding="utf-8")
    return [int(re.search(rf"{key}:\s+(\d+)", text)[1]) / 1024 for key in ("VmRSS", "VmHWM")]


def cpu(daemon):
    """Returns the CPU time of the daemon's threads in milliseconds."""
    tasks = Path(f"/proc/{daemon.process.pid}/task").glob("*/schedstat")
    return sum(int(task.read_text(encoding="ascii").split()[0]) for task in tasks) / 1e6


class Side:
    """The two daemons of one pool."""

    def __init__(self, pool, volumes, folder):
        self.volumes, self.parent = volumes, f"{pool}/zcsi"
        agent = f"unix://{folder}/agent.sock"
        self.node_daemon = Daemon("zcsi-node", folder, "--agent-endpoint", agent,
                                  "--node-id", "n1", "--dataset", self.parent)
        self.controller_daemon = Daemon("zcsi-controller", folder, "--agent", agent)
        self.controller = None

    def start_node(self):
        """Start the node and wait until its log says that the pool was read; a call would add to
        the measured cost."""
        self.node_daemon.start()
        wait_for(lambda: "pool is ready" in self.node_daemon.text(), "a reading", PATIENCE)

    def start_controller(self):
        self.controller_daemon.start()
        self.controller = self.controller_daemon.client()

    def count_readings(self):
        return self.node_daemon.text().count(f'"{READING}')

    def last_reading(self):
        """Returns the line of the log about the zfs process that read the whole pool."""
        return [line for line in self.node_daemon.log()
                if line["msg"] == "program was run" and line["argv"].startswith(READING)][-1]

    def close(self):
        for daemon in (self.controller_daemon, self.node_daemon):
            if daemon.running():
                daemon.stop()


def served(daemon, mark, method):
    """Returns the milliseconds of each call of the method in the daemon's log. The log truncates
    begin and end of a call to whole milliseconds, so the mean of many calls is right."""
    return [line["ms"] for line in daemon.log()[mark:]
            if line["msg"] == "rpc" and line["method"].endswith(f"/{method}")]


# ---- measurements: generators of (name, value, unit), each run with both pools in turn ----

def start(side):
    took, _ = timed(side.start_node)
    reading = side.last_reading()["ms"]
    yield "zcsi-node, start to ready", took, "ms"
    yield "  of it zfs get -r", reading, "ms"
    yield "  the rest", took - reading, "ms"
    side.start_controller()


def limit(side):
    """Run the same zfs command without a daemon."""
    argv = side.last_reading()["argv"].split()
    with open(os.devnull, "wb") as nowhere:
        took, _ = timed(lambda: subprocess.run(argv, stdout=nowhere, check=True))
    yield "zfs get -r by hand", took, "ms"


def changes(side):
    """Measure each RPC, and the zfs command that does the same."""
    volume, bare = f"new{os.getpid()}", f"{side.parent}/bare{os.getpid()}"
    same, csi, rows = options(PROPERTIES), side.controller, {}

    def pair(rpc, ours, theirs):
        rows.setdefault(rpc, ([], []))[0].append(timed(ours)[0])
        rows[rpc][1].append(timed(theirs)[0])

    for n in range(CHANGES):
        name, snapshot = f"{volume}-{n}", f"s{os.getpid()}-{n}"
        pair("CreateVolume", lambda: csi.CreateVolume(
            name=name, capacity_range=size_of(SIZE), volume_capabilities=[capability()]),
            lambda: run("zfs", "create", *same, bare))
        pair("CreateSnapshot", lambda: csi.CreateSnapshot(source_volume_id="v5", name=snapshot),
             lambda: run("zfs", "snapshot", *options({"a:b": 1}), f"{side.parent}/v6@{snapshot}"))
        pair("DeleteSnapshot", lambda: csi.DeleteSnapshot(snapshot_id=f"v5@{snapshot}"),
             lambda: run("zfs", "destroy", f"{side.parent}/v6@{snapshot}"))
        pair("DeleteVolume", lambda: csi.DeleteVolume(volume_id=name),
             lambda: run("zfs", "destroy", bare))
    for rpc, (ours, theirs) in rows.items():
        yield rpc, statistics.median(ours), "ms"
        yield f"  zfs alone, for {rpc}", statistics.median(theirs), "ms"


def lookups(side):
    """Measure the time that the client waits, and the CPU time of the two daemons."""
    calls = {
        "ControllerGetVolume": lambda n: side.controller.ControllerGetVolume(
            volume_id=f"v{n % side.volumes + 1}"),
        "GetSnapshot": lambda n: side.controller.GetSnapshot(
            snapshot_id=f"v{n % side.volumes + 1}@s1"),
        "ListSnapshots of a volume": lambda n: side.controller.ListSnapshots(
            source_volume_id=f"v{n % side.volumes + 1}"),
        "ValidateVolumeCapabilities": lambda n: side.controller.ValidateVolumeCapabilities(
            volume_id=f"v{n % side.volumes + 1}", volume_capabilities=[capability()]),
    }
    both = side.controller_daemon, side.node_daemon
    for name, call in calls.items():
        before = sum(map(cpu, both))
        times = [timed(lambda: call(7 * n))[0] for n in range(LOOKUPS)]
        yield name, statistics.median(times), "ms"
        yield "  CPU of both daemons", (sum(map(cpu, both)) - before) / LOOKUPS, "ms"


def pages(side):
    """Measure listing all pages, from the first to the last, repeatedly."""
    for rpc, inner, size in (("ListVolumes", "ListDatasets", FEW),
                             ("ListVolumes", "ListDatasets", PAGE),
                             ("ListSnapshots", "ListDatasetSnapshots", PAGE)):
        marks = side.controller_daemon.mark(), side.node_daemon.mark()
        token = ""
        for _ in range(PAGES):
            token = getattr(side.controller, rpc)(max_entries=size, starting_token=token).next_token
        controller = served(side.controller_daemon, marks[0], rpc)
        node = served(side.node_daemon, marks[1], inner)
        yield f"{rpc} page of {size}, controller", statistics.mean(controller), "ms"
        yield "  the slowest", max(controller), "ms"
        yield "  of it in the node", statistics.mean(node), "ms"


def while_reading(side):
    """Measure changes while the node scans the whole pool and applies the result."""
    csi, count, n = side.controller, side.count_readings(), 0
    mark = side.node_daemon.mark()
    ours, theirs = [], []
    side.node_daemon.signal(signal.SIGHUP)
    while not ours or side.count_readings() == count:
        name = f"r{os.getpid()}-{n}"
        n += 1
        ours.append(timed(lambda: csi.CreateSnapshot(source_volume_id="v5", name=name))[0])
        csi.DeleteSnapshot(snapshot_id=f"v5@{name}")
        theirs.append(timed(lambda: run("zfs", "snapshot", f"{side.parent}/v6@{name}"))[0])
        run("zfs", "destroy", f"{side.parent}/v6@{name}")
        for k in range(20):
            csi.ControllerGetVolume(volume_id=f"v{k % side.volumes + 1}")
    end = time.monotonic() + TAKE_OVER
    while time.monotonic() < end:
        csi.ControllerGetVolume(volume_id="v1")
    inner = served(side.node_daemon, mark, "GetDataset")
    yield "reading again: zfs get -r", side.last_reading()["ms"], "ms"
    yield "  GetDataset in the node", statistics.mean(inner), "ms"
    yield "  the slowest", max(inner), "ms"
    yield "  CreateSnapshot", statistics.median(ours), "ms"
    yield "  the slowest", max(ours), "ms"
    yield "  zfs snapshot alone", statistics.median(theirs), "ms"


def sizes(side):
    for daemon in (side.node_daemon, side.controller_daemon):
        now, most = memory(daemon)
        yield f"{daemon.name} RSS", now, "MB"
        yield "  the most there was", most, "MB"


@contextlib.contextmanager
def serving(volumes):
    with filled(volumes) as pool, tempfile.TemporaryDirectory(prefix="zcsi-bench-") as folder, \
            contextlib.closing(Side(pool, volumes, folder)) as side:
        yield side


def row(few, many):
    name, unit = few[0], few[2]
    ratio = f"{many[1] / few[1]:9.2f}" if few[1] else ""
    print(f"{name:36} {few[1]:11.2f} {unit:2} {many[1]:11.2f} {unit:2} {ratio}", flush=True)


def main():
    with serving(FEW) as few, serving(SCALE) as many:
        say()
        print(f"{f'{SNAPSHOTS} snapshots each':36} {FEW:>6} volumes {SCALE:>6} volumes"
              f" {'ratio':>9}")
        for group in (start, sizes, changes, lookups, pages, while_reading, sizes, limit):
            say(f"measuring: {group.__name__}")
            rows = [list(group(side)) for side in (few, many)]
            say()
            for pair in zip(*rows):
                row(*pair)


if __name__ == "__main__":
    main()
