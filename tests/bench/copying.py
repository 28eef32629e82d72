# SPDX-License-Identifier: MPL-2.0
"""Measurement of copies: a first push of MEGABYTES (256) to another host, in ROUNDS (3) turns with
`zfs send` and `zfs receive` that socat connects by TLS 1.3; the memory that the push of STREAM
(512) MiB takes; and one look of zcsi-node for changes of VOLUMES (1000) idle volumes with copies,
before and after each of them has got EACH (10) snapshots, and one of them SNAPSHOTS (2000) more.
These are figures, not tests: a slow result is no failure. Both hosts are in one machine, with a
network namespace and a pool each. These runs take hours in an emulated machine:

    make bench-copy STREAM=40960 PATIENCE=100 LAB_TIMEOUT=86400
    make bench-copy EACH=65 PATIENCE=100 LAB_TIMEOUT=86400
    make bench-copy SNAPSHOTS=65000 PATIENCE=100 LAB_TIMEOUT=86400
"""
import contextlib
import fcntl
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e"), str(HERE.parent / "e2e/openzfs")]

from certificates import files  # noqa: E402
from client import MIB, ROOT  # noqa: E402
from copies import in_use  # noqa: E402
from daemon import wait_for  # noqa: E402
from host import Host, run, Volume  # noqa: E402
from namespaces import Namespaces, Site  # noqa: E402
from pool import Pools  # noqa: E402

MEGABYTES, ROUNDS, STREAM, VOLUMES, EACH, SNAPSHOTS = (
    int(os.environ.get(name) or few) for name, few in (
        ("MEGABYTES", 256), ("ROUNDS", 3), ("STREAM", 512), ("VOLUMES", 1000), ("EACH", 10),
        ("SNAPSHOTS", 2000)))
PORT, SOCAT_PORT = 9740, 9741
BLOCK, PIPE_SIZE = 128 << 10, 1 << 20  # bytes of socat's buffer, and of the pipes of zfs
LOOKS, EVERY, WIDTH = 5, 10, 8
LEAST, MOST, GROWTH_MB = 0.95, 1.1, 8
LONGEST = 3600  # seconds to wait for a push or for the looks
LINEAGE = "00112233aabbccdd"


class Cpu:
    """The CPU seconds of the two zcsi-nodes and of their child processes that have ended."""

    def __init__(self, hosts):
        self.pids = [host.node_daemon.process.pid for host in hosts]

    def now(self):
        ticks = 0
        for pid in self.pids:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += sum(map(int, fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")


def peak_mb(host):
    status = Path(f"/proc/{host.node_daemon.process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def pipe():
    ends = os.pipe()
    fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, PIPE_SIZE)
    return ends


def by_socat(hosts, folder, n):
    """Send the volume with zfs(8) and socat(1). Returns the elapsed seconds and the CPU seconds."""
    source, target = hosts
    copy, snapshot = target.dataset(f"by-socat-{n}"), f"{source.dataset('data')}@by-socat-{n}"

    def socat(host, *ends, **pipes):
        return subprocess.Popen([*host.namespaces.prefix, "socat", "-u", "-b", str(BLOCK), *ends],
                                **pipes)

    def tls(host):
        _, ca, _, cert, _, key = map(str, files(folder, host.node_id))
        return (f"cafile={ca},cert={cert},key={key},verify=1,commonname=,"
                "openssl-min-proto-version=TLS1.3")

    address = target.namespaces.address
    incoming, outgoing = pipe(), pipe()
    listener = socat(target, f"OPENSSL-LISTEN:{SOCAT_PORT},reuseaddr,{tls(target)}", "-",
                     stdout=incoming[1])
    wait_for(lambda: f":{SOCAT_PORT}" in target.namespaces.run("ss", "-Hltn"), "socat listens")
    begun = time.monotonic()
    run("zfs", "snapshot", snapshot)
    children = [
        listener,
        subprocess.Popen(["zfs", "receive", "-s", "-u", copy], stdin=incoming[0]),
        subprocess.Popen(["zfs", "send", "-L", "-c", snapshot], stdout=outgoing[1]),
        socat(source, "-", f"OPENSSL:{address}:{SOCAT_PORT},no-sni=1,{tls(source)}",
              stdin=outgoing[0])]
    for end in (*incoming, *outgoing):
        os.close(end)
    cpu = 0
    for child in children:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0, child.args
        cpu += usage.ru_utime + usage.ru_stime
    took = time.monotonic() - begun
    run("zfs", "destroy", "-r", copy)
    run("zfs", "destroy", snapshot)
    return took, cpu


def by_zcsi(hosts, cpu, volume):
    source, target = hosts
    begun, used = time.monotonic(), cpu.now()
    source.agent.AddMember(id=volume.id, node_id=target.node_id, every=86400)

    def complete():
        [push] = source.agent.ListPushes(id=volume.id).pushes
        assert not push.failed, push.error
        return push.synced and not push.running
    wait_for(complete, "the copy is complete", LONGEST, pause=0.005)
    took, used = time.monotonic() - begun, cpu.now() - used
    source.agent.RemoveMember(id=volume.id, node_id=target.node_id)
    return took, used


def print_memory(hosts):
    """Print by how much a push of STREAM MiB raises the peak memory of both daemons. All data is
    the same MiB again and again, which a pool stores once, so the disk may be small."""
    for host in hosts:
        run("zfs", "set", "dedup=on", host.parent)
    volume = Volume(hosts[0], "stream", size=2 * STREAM * MIB)
    with in_use(Hosts(hosts), volume=volume):
        part = os.urandom(MIB)
        with open(f"{volume.target}/data", "wb") as file:
            for _ in range(STREAM):
                file.write(part)
        before = [peak_mb(host) for host in hosts]
        by_zcsi(hosts, Cpu(hosts), volume)
        growth = [peak_mb(host) - was for host, was in zip(hosts, before)]
    for host in hosts:
        run("zfs", "inherit", "dedup", host.parent)
    print(f"{f'a push of {STREAM} MiB':26} {'more memory':>14}")
    for name, more in zip(("the sender", "the receiver"), growth):
        print(f"{name:26} {more:11.1f} MB{'' if more <= GROWTH_MB else '  *'}")
    print(f"* above {GROWTH_MB} MB\n", flush=True)


def compare_pushes(hosts, folder):
    cpu, sides = Cpu(hosts), ([], [])
    with in_use(Hosts(hosts), size=2 * MEGABYTES * MIB) as volume:
        with open(f"{volume.target}/data", "wb") as file:
            for _ in range(MEGABYTES):
                file.write(os.urandom(MIB))
        for n in range(ROUNDS):
            # in turns, so that neither always profits from caches that the other has filled
            for side in (0, 1) if n % 2 else (1, 0):
                sides[side].append(by_socat(hosts, folder, n) if side else
                                   by_zcsi(hosts, cpu, volume))
    print_pushes(sides)


def print_pushes(sides):
    print(f"a first push of {MEGABYTES} MiB{'zcsi':>14} {'socat':>9} {'ratio':>7}")
    (ours, our_cpu), (theirs, their_cpu) = (
        (statistics.median(column) for column in zip(*side)) for side in sides)
    rates = [MEGABYTES / took for took in (ours, theirs)]
    costs = [used * 1024 / MEGABYTES for used in (our_cpu, their_cpu)]
    for name, (one, other), good in (
            ("MiB a second", rates, rates[0] >= LEAST * rates[1]),
            ("CPU seconds a GiB", costs, costs[0] <= MOST * costs[1])):
        print(f"{name:26} {one:14.2f} {other:9.2f} {one / other:7.2f}{'' if good else '  *'}")
    print(f"* below {LEAST} of the speed, above {MOST} times the CPU", flush=True)


def in_parallel(call, arguments):
    with ThreadPoolExecutor(WIDTH) as many:
        list(many.map(call, arguments))


def populate(host):
    """Create volumes that look as if their copies were up to date: each has the bookmark that a
    complete push leaves, before it gets members. Returns their datasets."""
    names = [host.dataset(f"idle-{n}") for n in range(VOLUMES)]

    def make(name):
        run("zfs", "create", "-o", "canmount=noauto", "-o", "zcsi:version=1", "-o",
            f"zcsi:volume={name.rsplit('/', 1)[1]}", name)
    in_parallel(make, names)
    snapshot(names, "_repl-1")
    in_parallel(lambda name: run("zfs", "bookmark", f"{name}@_repl-1", f"{name}#_repl-n2"), names)
    run("zfs", "set", f"zcsi:members={LINEAGE}:{EVERY}:n1,n2", *names)
    return names


def snapshot(names, tag):
    run("zfs", "snapshot", *(f"{name}@{tag}" for name in names))


def looks(host):
    """Returns the milliseconds of each of the next looks (`zfs get written#...`), at least LOOKS,
    and the number of programs that ran meanwhile."""
    start = host.node_daemon.mark()

    def seen():
        lines = [line for line in host.node_daemon.log()[start:]
                 if line["msg"] == "program was run"]
        times = [line["ms"] for line in lines if "written#" in line["argv"]]
        return len(times) >= LOOKS and (times, len(lines))
    return wait_for(seen, "looks", LONGEST, pause=0.5)


def compare_looks(host):
    names = populate(host)
    host.rescan(lambda: len(host.agent.ListPushes().pushes) == VOLUMES)
    print(f"\n{f'a look at {VOLUMES} copies':34} {'median':>11} {'programs a look':>17}")
    print_looks("idle", host)
    for n in range(EACH):
        snapshot(names, f"each-{n}")
    print_looks(f"{EACH * VOLUMES} snapshots on all together", host)
    in_parallel(lambda n: snapshot(names[:1], f"one-{n}"), range(SNAPSHOTS))
    print_looks(f"{SNAPSHOTS} more on one of them", host)


def print_looks(name, host):
    host.read_again()
    times, programs = looks(host)
    print(f"{name:34} {statistics.median(times):8.0f} ms {programs / len(times):17.1f}", flush=True)


class Hosts:
    """Two hosts, with as much of the interface of copies.Pair as in_use() needs."""

    def __init__(self, hosts):
        self.owner, self.other = hosts


@contextlib.contextmanager
def two_hosts(stack, folder):
    """Two hosts that reach each other by mutual TLS alone. They are not started."""
    stack.enter_context(contextlib.closing(Site()))
    spaces = [stack.enter_context(contextlib.closing(Namespaces(n))) for n in (1, 2)]
    pools = stack.enter_context(contextlib.closing(Pools(folder)))
    run(str(ROOT / "jobs/local/certs"), str(folder),
        *(f"n{n},{space.address}" for n, space in enumerate(spaces, 1)))
    agents = Path(folder, "agents")
    agents.write_text("".join(f"tcp://{space.address}:{PORT}\n" for space in spaces))
    hosts = []
    for n, space in enumerate(spaces, 1):
        space.plug()
        pool = pools.create(f"bench{n}-{os.getpid()}", 3 * max(MEGABYTES, STREAM) + 1024)
        hosts.append(stack.enter_context(contextlib.closing(Host(
            pool, node_id=f"n{n}", namespaces=space, node_args=(
                "--address", space.address, "--agent-endpoint", f"tcp://{space.address}:{PORT}",
                "--agents-file", str(agents), *files(folder, f"n{n}"))))))
    yield hosts


def compare_copies():
    with tempfile.TemporaryDirectory(prefix="zcsi-bench-") as name, \
            contextlib.ExitStack() as stack, two_hosts(stack, Path(name)) as hosts:
        for host in reversed(hosts):
            host.start()
        print_memory(hosts)
        compare_pushes(hosts, Path(name))
        compare_looks(hosts[0])


if __name__ == "__main__":
    compare_copies()
