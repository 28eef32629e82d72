# SPDX-License-Identifier: MPL-2.0
"""Measurement of a failover: the node of VOLUMES (200) volumes is lost, and the node with their
copies takes all of them over. Beside it is what this would cost at least: a zfs rename for each,
one after the other. These are figures, not tests: a slow result is no failure. Both hosts are in
one machine, with a network and a pool each."""
import contextlib
import os
import tempfile
import time
from pathlib import Path

from copying import two_hosts

from copies import create, Pair
from daemon import wait_for
from host import Volume, run

VOLUMES = int(os.environ.get("VOLUMES", "200"))
SECONDS = 60  # the bound, for 200 volumes


def take_over(pair):
    """Returns seconds and programs, both for all volumes."""
    leaves = [f"data-{number}" for number in range(VOLUMES)]
    for leaf in leaves:
        create(Volume(pair.owner, leaf), {"replicas": "2", "sync_every": "1h"})
    wait_for(lambda: pair.settled(VOLUMES), "all have a copy", 60 + 10 * VOLUMES)
    pair.owner.node_daemon.kill()
    log = pair.other.node_daemon
    mark, begun = log.mark(), time.monotonic()
    pair.zcsi("failover", "--lost", "n1", "--accept-loss", "30d")
    took = time.monotonic() - begun
    assert len(pair.other.agent.ListDatasets().datasets) == VOLUMES
    return took, sum(line["msg"] == "program was run" for line in log.log()[mark:])


def rename(host):
    """Returns the seconds of a zfs rename for each volume."""
    names = [host.dataset(f"_by-hand/{number}") for number in range(VOLUMES)]
    run("zfs", "create", "-o", "canmount=off", host.dataset("_by-hand"))
    for name in names:
        run("zfs", "create", "-o", "canmount=noauto", name)
    begun = time.monotonic()
    for name in names:
        run("zfs", "rename", name, f"{name}-renamed")
    return time.monotonic() - begun


def main():
    with tempfile.TemporaryDirectory(prefix="zcsi-bench-") as name, \
            contextlib.ExitStack() as stack, two_hosts(stack, Path(name)) as hosts:
        hosts[0].controller_daemon.argv += ["--agent", f"unix://{hosts[1].agent_socket}"]
        pair = Pair(hosts)
        took, programs = take_over(pair)
        bare = rename(pair.other)
    print(f"{VOLUMES} volumes are taken over in {took:.1f} s, by {programs / VOLUMES:.1f} programs "
          f"a volume; {VOLUMES} times zfs rename: {bare:.1f} s, ratio {took / bare:.2f}")
    print(f"the bound is {SECONDS} s for 200 volumes in an emulated machine")


if __name__ == "__main__":
    main()
