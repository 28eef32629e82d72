# SPDX-License-Identifier: MPL-2.0
"""The namespaces of tests/nomad/alone: programs in them must not affect the host."""
import os
import shutil

from host import KERNEL_ZFS


def test_the_pools_of_the_host_are_not_imported():
    """zfs-fuse imports the pools in /var/lib/zfs/zpool.cache when it starts."""
    assert KERNEL_ZFS or not shutil.which("zfs-fuse") or os.path.ismount("/var/lib/zfs")
