# SPDX-License-Identifier: MPL-2.0
"""A pool without space: volumes are detached and deleted, so that there is space again. OpenZFS
keeps a part of the pool for such changes; zfs-fuse does not, and refuses all but destroying."""
import contextlib
import errno
import os

import pytest

from client import MIB
from host import Host, Volume
from snapshots import drop, take
from staged import points


def fill(path):
    """Write to a file until the pool is full."""
    for size in (MIB, 4096):
        with pytest.raises(OSError) as full, open(path, "ab", buffering=0) as file:
            while True:
                file.write(os.urandom(size))
                os.fsync(file.fileno())
        assert full.value.errno == errno.ENOSPC


def test_a_full_pool_is_emptied(pools):
    pool = pools.create(f"full{os.getpid()}", megabytes=128)
    with contextlib.closing(Host(pool).start()) as host:
        large, small = Volume(host, "large", size=1024 * MIB), Volume(host, "small")
        for volume in (large, small):
            volume.up()
        take(small)
        fill(f"{large.target}/file")
        for volume in (small, large):
            volume.down()
        assert points(host) == []
        drop(host, "small@s")
        for volume in (small, large):
            volume.delete()
        assert host.leaves() == []
        large.create()
