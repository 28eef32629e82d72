# SPDX-License-Identifier: MPL-2.0
"""A power cut without a machine of its own. `zpool freeze`, by which OpenZFS tests its intent log,
makes a pool write nothing more but that log. So an export and an import leave on the disk what a
cut leaves: what was synced by fsync is in the log, and in the dataset only after its next mount."""
import contextlib
import os
from pathlib import Path

from host import run


def write_synced(volume, name, text=b"acknowledged"):
    """Write a file as a workload does that is to lose nothing."""
    with open(Path(volume.target, name), "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def reboot(pools, host):
    """End the host and its pool, and import the pool. Nothing is mounted then, and zcsi-node has to
    be started."""
    host.node_daemon.close()
    host.node_daemon.kill()
    for point, _ in reversed(host.mounts()):
        run("umount", point)
    pool = host.parent.split("/")[0]
    run("zpool", "export", pool)
    run("zpool", "import", "-f", "-N", "-o", "cachefile=none", "-d", pools.folder, pool)


@contextlib.contextmanager
def power_cut(pools, host):
    """Within the block, syncing reaches the intent log only. At its end the power is cut, and
    the host boots. Something must have been synced before, because a frozen pool begins no log."""
    pool = host.parent.split("/")[0]
    run("zpool", "sync", pool)
    run("zpool", "freeze", pool)
    yield
    reboot(pools, host)
