# SPDX-License-Identifier: MPL-2.0
"""Measurement of the transport: the cost of a call, a byte, a process and idle time, compared with
gRPC's own servers in the same run. h2load calls Identity/Probe over a unix socket, and
tests/bench/client receives a stream of bytes; server and client are pinned to one CPU each, and
each server gets a turn in each of ROUNDS rounds. A value is the median of the rounds, a ratio the
median of the ratios within them. A value that misses its limit is marked, but is no failure."""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass

from h2 import PATH
from servers import BUILD, build, CREDENTIALS, make_credentials, READY, Server, start, undisturbed

ROUNDS = int(os.environ.get("ROUNDS", "5"))
SECONDS = 1  # duration of the calls for each value of each round
BYTES = 1 << 30
IDLE_SECONDS = 30
DAEMON, NODE, ZCSI = "zcsi-controller", "zcsi-node", "zcsi"
DAEMON_TLS, DAEMON_METRICS = f"{DAEMON}, TLS", f"{DAEMON}, metrics"
CPP, GO, JS, PYTHON = "gRPC C++", "grpc-go", "grpc-js", "grpcio"
EVERYBODY = (DAEMON, ZCSI, CPP, GO, JS, PYTHON)


# ---- measuring ----

def h2load(server, cpu, connections, streams):
    """Returns the number of right answers in SECONDS, with as many calls as possible."""
    done = subprocess.run(
        ["taskset", "-c", str(cpu), "h2load", "-D", str(SECONDS), "-c", str(connections),
         "-m", str(streams), "-d", f"{server.folder}/body", "-H", "content-type: application/grpc",
         "-H", "te: trailers", "-B", f"unix:{server.socket}", f"http://localhost{PATH}"],
        capture_output=True, text=True, check=True)
    calls, failed, errored = (int(re.search(rf"(\d+) {word}", done.stdout)[1])
                              for word in ("succeeded", "failed", "errored"))
    answers = int(re.search(r"\((\d+)\) data", done.stdout)[1]) / (5 + len(READY))
    assert calls and not failed and not errored, done.stdout
    assert abs(answers - calls) <= connections * streams, done.stdout
    return calls


def load(name, folder, cpus, connections, streams):
    """Returns the microseconds of the server's CPU time per call, and the calls per second."""
    with Server(name, folder, cpus[0]) as server:
        server.wait().verify()
        before = server.cpu()
        calls = h2load(server, cpus[1], connections, streams)
        return (server.cpu() - before) / calls * 1e6, calls / SECONDS


def bulk(name, folder, cpus, tls):
    """Returns the milliseconds of the server's CPU time per GB, and the MB per second."""
    with Server(name, folder, cpus[0], tls) as server:
        server.wait()
        before = server.cpu()
        files = [word.format(folder=folder) for word in CREDENTIALS] if tls else []
        done = subprocess.run(
            ["taskset", "-c", str(cpus[1]), BUILD / "tests/bench/client", server.endpoint,
             "Send64KiB", str(BYTES), *files], capture_output=True, text=True, check=True)
        received, microseconds = map(int, done.stdout.split())
        assert BYTES <= received < BYTES * 1.001, done.stdout
        return (server.cpu() - before) / received * 1e12, received / microseconds


def measure(figures, names, folder, cpus):
    """Measure one round. Values that are compared are measured shortly after each other."""
    for name in names:
        figures["cpu"][name].append(load(name, folder, cpus, 10, 10)[0])
    for name in names:
        figures["rate"][name].append(load(name, folder, (cpus[0], cpus[0]), 1, 1)[1])
    for name in (*names, DAEMON_TLS, DAEMON_METRICS):
        milliseconds, (resident, _, _) = start(name, folder)
        figures["start"][name].append(milliseconds)
        figures["memory"][name].append(resident / 1024)
    for tls in (True, False):
        for name in filter({ZCSI, CPP, GO}.__contains__, names):
            cpu, rate = bulk(name, folder, cpus, tls)
            figures["bulk cpu", tls][name].append(cpu)
            figures["bulk rate", tls][name].append(rate)


def measure_idle(figures, names, folder):
    """Measure all idle servers at once, each after its first Probe; among them is a node whose
    agent the controller polls."""
    with ExitStack() as stack:
        servers = [stack.enter_context(Server(name, folder)).wait()
                   for name in (NODE, *names)]
        before = [server.switches() for server in servers]
        time.sleep(IDLE_SECONDS)
        for server, count in zip(servers, before):
            figures["idle"][server.name].append(server.switches() - count)
            figures["program"][server.name].append(server.program())


# ---- the table ----

@dataclass
class Row:
    """A row of the table. The limits of the value of `ours` are `most` and `ratios`, factors of the
    peers' values; they are maximums, or minimums if `at_least`."""
    title: str
    figure: object
    unit: str
    ours: str
    most: float = None
    ratios: dict = None  # peer -> factor, or None for a peer without a limit
    at_least: bool = False

    def verdict(self, value, bar):
        if bar is None:
            return "", ""
        met = value >= bar if self.at_least else value <= bar
        return f"{'>=' if self.at_least else '<='} {bar:g}", "ok" if met else "MISSED"


ALL = dict.fromkeys((CPP, GO, JS, PYTHON))
ROWS = [
    Row("CPU of a Probe, 10 connections x 10", "cpu", "us", DAEMON,
        ratios={**ALL, CPP: 1 / 4, GO: 1 / 5}),
    Row("  the same, run by a worker", "cpu", "us", ZCSI, ratios={CPP: None, GO: 1 / 2}),
    Row("Probes one at a time, on one CPU", "rate", "/s", DAEMON, at_least=True,
        ratios={**ALL, GO: 2}),
    Row("  the same, run by a worker", "rate", "/s", ZCSI, at_least=True,
        ratios={CPP: None, GO: None}),
    Row("RSS after the first Probe", "memory", "MB", DAEMON, most=6, ratios=ALL),
    Row("  with TLS", "memory", "MB", DAEMON_TLS, most=9),
    Row("  with metrics", "memory", "MB", DAEMON_METRICS),
    Row("exec to the first Probe's answer", "start", "ms", DAEMON, most=10, ratios=ALL),
    Row("  with TLS", "start", "ms", DAEMON_TLS),
    Row("  with metrics", "start", "ms", DAEMON_METRICS),
    Row(f"Wake-ups in {IDLE_SECONDS} idle seconds", "idle", "", ZCSI, most=0, ratios=ALL),
    Row("  zcsi-node without a pool", "idle", "", NODE),
    Row("  zcsi-controller, which calls a roll", "idle", "", DAEMON),
    Row("The program, stripped", "program", "kB", DAEMON, ratios={CPP: None, GO: None}),
    Row("TLS bulk send, CPU of a GB", ("bulk cpu", True), "ms", ZCSI, ratios={CPP: 0.9, GO: 0.8}),
    Row("  rate", ("bulk rate", True), "MB/s", ZCSI, at_least=True, ratios={CPP: 1, GO: None}),
    Row("Plain bulk send, CPU of a GB", ("bulk cpu", False), "ms", ZCSI,
        ratios={CPP: None, GO: None}),
    Row("  rate", ("bulk rate", False), "MB/s", ZCSI, at_least=True,
        ratios={CPP: None, GO: None}),
]


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def lines(row, figures):
    """Returns (title, ours, spread, peer, theirs, ratio, bar, verdict), first for the value itself,
    then for each peer."""
    mine = figures[row.ours]
    median = statistics.median(mine)
    yield (row.title, f"{number(median)} {row.unit}", f"{number(min(mine))}-{number(max(mine))}",
           "", "", "", *row.verdict(median, row.most))
    for peer, bar in (row.ratios or {}).items():
        if peer not in figures:
            yield "", "", "", peer, "absent", "", *row.verdict(float("nan"), bar)
            continue
        ratio = statistics.median(a / b if b else float(a > 0)
                                  for a, b in zip(mine, figures[peer]))
        yield ("", "", "", peer, f"{number(statistics.median(figures[peer]))} {row.unit}",
               number(ratio), *row.verdict(ratio, bar))


def table(figures):
    """Print the table. Returns the number of missed limits."""
    missed = 0
    shape = "{:36} {:>10} {:>12}  {:9} {:>10} {:>7} {:>7} {}"
    print(shape.format("", "zcsi", "spread", "beside", "", "ratio", "bar", ""))
    for row in ROWS:
        for cells in lines(row, figures[row.figure]):
            missed += cells[-1] == "MISSED"
            print(shape.format(*cells).rstrip())
    return missed


def main():
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        sys.exit("the server and its load need a CPU each: there is one here")
    names = build(EVERYBODY)
    figures = defaultdict(lambda: defaultdict(list))
    with tempfile.TemporaryDirectory(prefix="zcsi-bench-") as folder:
        make_credentials(folder)
        with open(f"{folder}/body", "wb") as body:
            body.write(bytes(5))
        for turn in range(1, ROUNDS + 1):
            print(f"round {turn} of {ROUNDS}", file=sys.stderr, flush=True)
            with undisturbed():
                measure(figures, names, folder, cpus)
        print(f"{IDLE_SECONDS} idle seconds", file=sys.stderr, flush=True)
        measure_idle(figures, names, folder)
    missed = table(figures)
    print(f"{missed} bars missed" if missed else "every bar is met")


if __name__ == "__main__":
    main()
