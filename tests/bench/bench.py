# SPDX-License-Identifier: MPL-2.0
"""What the daemons cost: memory when idle, time from exec to the first answered Probe, and how much
CSI adds to zfs itself; beside servers of python3-grpcio and (where there is Go) of grpc-go,
measured in the same run. Figures, not tests: nothing here fails for being slow."""
import contextlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from daemon import BUILD  # noqa: E402
from h2 import probe  # noqa: E402
from host import Host, run, Volume  # noqa: E402
from pool import Pools  # noqa: E402

STARTS, VOLUMES = 20, 30


def servers(folder):
    """(name, argv that serves Probe on {socket})"""
    agent = f"unix://{folder}/agent.sock"
    yield "zcsi-node", [BUILD / "zcsi-node", "--endpoint", "unix://{socket}",
                        "--agent-endpoint", agent]
    yield "zcsi-controller", [BUILD / "zcsi-controller", "--endpoint", "unix://{socket}",
                              "--agent", agent]
    yield "python3-grpcio", [sys.executable, HERE / "peer.py", "{socket}"]
    if shutil.which("go"):
        subprocess.run(["go", "build", "-trimpath", "-ldflags", "-s -w", "-o",
                        f"{folder}/peer", "."], cwd=HERE / "peer", check=True)
        yield "grpc-go", [f"{folder}/peer", "{socket}"]
    else:
        print("no go here: grpc-go is left out")


@contextlib.contextmanager
def serving(argv, socket):
    """Start it; the milliseconds until it has answered its first Probe."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(socket)
    argv = [str(word).replace("{socket}", socket) for word in argv]
    quiet = [(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
    start = time.monotonic()
    pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=quiet)
    try:
        while not probe(socket):
            if time.monotonic() - start > 20:
                raise RuntimeError(f"{argv[0]} does not answer")
        yield pid, (time.monotonic() - start) * 1000
    finally:
        os.kill(pid, 15)
        os.waitpid(pid, 0)


def memory(pid):
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    sizes = {key: int(value) for key, value in re.findall(r"^(\w+): +(\d+) kB", text, re.MULTILINE)}
    return sizes["Rss"], sizes["Pss"], sizes["Private_Clean"] + sizes["Private_Dirty"]


def compare_servers():
    print(f"{'server':16} {'first Probe':>12} {'slowest':>9} {'RSS':>9} {'PSS':>9} {'USS':>9}")
    with tempfile.TemporaryDirectory(prefix="zcsi-bench-") as folder:
        for name, argv in servers(folder):
            times, sizes = [], []
            for _ in range(STARTS):
                with serving(argv, f"{folder}/{name}.sock") as (pid, milliseconds):
                    times.append(milliseconds)
                    sizes.append(memory(pid))
            rss, pss, uss = (statistics.median(column) for column in zip(*sizes))
            print(f"{name:16} {statistics.median(times):9.1f} ms {max(times):6.1f} ms "
                  f"{rss:6.0f} kB {pss:6.0f} kB {uss:6.0f} kB")


def timed(step):
    start = time.monotonic()
    step()
    return (time.monotonic() - start) * 1000


def compare_with_zfs():
    with tempfile.TemporaryDirectory(prefix="zcsi-bench-") as folder, \
            contextlib.closing(Pools(folder)) as pools, \
            contextlib.closing(Host(pools.create(f"bench{os.getpid()}"))) as host:
        host.start()
        rows = {"create": ([], []), "destroy": ([], [])}
        for n in range(VOLUMES):
            volume, bare = Volume(host, f"v{n}"), host.dataset(f"bare{n}")
            rows["create"][0].append(timed(volume.create))
            rows["create"][1].append(timed(lambda: run(
                "zfs", "create", "-o", "canmount=noauto", "-o", "refquota=8M", bare)))
            rows["destroy"][0].append(timed(volume.delete))
            rows["destroy"][1].append(timed(lambda: run("zfs", "destroy", bare)))
    print(f"\n{'':16} {'through CSI':>12} {'bare zfs':>11} {'ratio':>7}")
    for verb, (ours, bare) in rows.items():
        ours, bare = statistics.median(ours), statistics.median(bare)
        print(f"{verb:16} {ours:9.1f} ms {bare:8.1f} ms {ours / bare:7.2f}")


if __name__ == "__main__":
    compare_servers()
    compare_with_zfs()
