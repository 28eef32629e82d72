# SPDX-License-Identifier: MPL-2.0
"""Measurement of the daemons: memory when idle, time from exec to the first answered Probe, and the
time that CSI adds to zfs itself. Servers of python3-grpcio and (if Go is installed) of grpc-go are
measured in the same run for comparison. These are figures, not tests: a slow result is no
failure."""
import statistics
import tempfile

from servers import build, start, undisturbed
from zfs import compare_with_zfs

STARTS = 20


def compare_servers():
    print(f"{'server':16} {'first Probe':>12} {'slowest':>9} {'RSS':>9} {'PSS':>9} {'USS':>9}")
    with tempfile.TemporaryDirectory(prefix="zcsi-bench-") as folder:
        for name in build(["zcsi-node", "zcsi-controller", "grpcio", "grpc-go"]):
            with undisturbed():
                times, sizes = zip(*(start(name, folder) for _ in range(STARTS)))
            rss, pss, uss = (statistics.median(column) for column in zip(*sizes))
            print(f"{name:16} {statistics.median(times):9.1f} ms {max(times):6.1f} ms "
                  f"{rss:6.0f} kB {pss:6.0f} kB {uss:6.0f} kB")


if __name__ == "__main__":
    compare_servers()
    print()
    compare_with_zfs()
