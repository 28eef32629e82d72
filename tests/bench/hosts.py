# SPDX-License-Identifier: MPL-2.0
"""Measurement of a controller with many hosts: its memory and the duration of calls with 10, 100
and HOSTS (1000) agents, each with ten volumes. The agents are simulated in one process; the
controller is real. Then a tenth of the agents is killed, and after that another tenth hangs; calls
for volumes of the other agents must take no longer. These are figures, not tests."""
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from client import capability, size_of  # noqa: E402
from daemon import BUILD, Daemon, wait_for  # noqa: E402

HOSTS = int(os.environ.get("HOSTS", 1000))
CALLS = int(os.environ.get("CALLS", 100))
VOLUMES, PAGE, GIB = 10, 100, 1 << 30


class Agents:
    """A process that simulates `count` agents."""

    def __init__(self, folder, first, count):
        self.numbers = range(first, first + count)
        self.process = subprocess.Popen(
            [BUILD / "tests/bench/agents", folder, *map(str, (first, count, VOLUMES))],
            stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def end(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def rss(pid):
    line = next(line for line in open(f"/proc/{pid}/status") if line.startswith("VmRSS"))
    return int(line.split()[1])


def measure(step, numbers):
    """Returns p50 and p99 in milliseconds as text. A failed call ends the benchmark, because its
    duration is not that of a successful call."""
    times = []
    for at in range(CALLS):
        began = time.monotonic()
        call = step(at, numbers[at * 7919 % len(numbers)])
        code = call.code().name
        times.append((time.monotonic() - began) * 1000)
        if code != "OK":
            sys.exit(f"a call ended with {code}: {call.details()}")
    cuts = statistics.quantiles(times, n=100)
    return f"{cuts[49]:.1f} / {cuts[98]:.1f}"


def row(controller, daemon, label, numbers, base):
    """Print one row; the calls are for volumes of the agents `numbers`. CreateVolume succeeds while
    an agent is silent, because the hashes of its names show that it lacks the new one."""
    create = measure(lambda at, _: controller.CreateVolume.future(
        name=f"{label}-{at}", capacity_range=size_of(GIB), volume_capabilities=[capability()],
        timeout=10), numbers)
    find = measure(lambda at, n: controller.ControllerGetVolume.future(
        volume_id=f"v{at % VOLUMES}-{n}", timeout=10), numbers)
    listing = measure(lambda at, _: controller.ListVolumes.future(max_entries=PAGE, timeout=10),
                      numbers)
    publish = measure(lambda at, n: controller.ControllerPublishVolume.future(
        volume_id=f"v{at % VOLUMES}-{n}", node_id=f"node-{n:04}", timeout=10,
        volume_capability=capability()), numbers)
    size = rss(daemon.process.pid)
    count = int(label.split(",")[0])
    print(f"{label:<28}{size / 1024:>8.1f}{(size - base) / count:>9.1f}"
          f"{create:>26}{find:>16}{listing:>26}{publish:>16}", flush=True)


def bench(count, base):
    tenth = count // 10
    with tempfile.TemporaryDirectory(prefix="zcsi-hosts-") as folder:
        groups = [Agents(folder, 0, count - 2 * tenth), Agents(folder, count - 2 * tenth, tenth),
                  Agents(folder, count - tenth, tenth)]
        Path(folder, "list").write_text("".join(
            f"unix://{folder}/agent-{n}.sock\n" for n in range(count)))
        daemon = Daemon("zcsi-controller", folder, "--agents-file", f"{folder}/list",
                        "--roll-call", "2", "--partial-lists")
        daemon.argv[daemon.argv.index("debug")] = "warn"
        daemon.start()
        controller = daemon.client()
        numbers = list(groups[0].numbers)
        try:
            controller.GetCapacity()
            row(controller, daemon, f"{count}", numbers, base)
            if count == HOSTS:
                groups[1].process.kill()
                seen(daemon, tenth)
                row(controller, daemon, f"{count}, a tenth dead", numbers, base)
                groups[2].process.send_signal(signal.SIGSTOP)
                seen(daemon, 2 * tenth)
                row(controller, daemon, f"{count}, and a tenth hangs", numbers, base)
        finally:
            daemon.close()
            daemon.kill()
            for group in groups:
                group.end()


def seen(daemon, count):
    """Wait until the controller has logged that `count` agents are down."""
    wait_for(lambda: sum(line["msg"] == "agent is down" for line in daemon.log()) >= count,
             f"{count} agents are down", 30)


def alone():
    """Measure the memory of a controller with a single agent."""
    with tempfile.TemporaryDirectory(prefix="zcsi-hosts-") as folder:
        agents = Agents(folder, 0, 1)
        daemon = Daemon("zcsi-controller", folder, "--agent", f"unix://{folder}/agent-0.sock")
        daemon.start()
        daemon.client().GetCapacity()
        size = rss(daemon.process.pid)
        daemon.close()
        daemon.kill()
        agents.end()
        return size


def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, resource.getrlimit(
        resource.RLIMIT_NOFILE)[1]),) * 2)
    base = alone()
    print(f"A controller with one agent: {base / 1024:.1f} MB. p50 / p99 of {CALLS} calls in ms, "
          "by Python's client.\n")
    print(f"{'agents':<28}{'RSS MB':>8}{'KB each':>9}{'create':>26}{'find':>16}{'list 100':>26}"
          f"{'publish':>16}")
    for count in sorted({10, 100, HOSTS}):
        bench(count, base)


if __name__ == "__main__":
    main()
