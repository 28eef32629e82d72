# SPDX-License-Identifier: MPL-2.0
"""A pool without space: volumes can be detached and deleted, which frees space. OpenZFS keeps a
part of the pool for such changes. zfs-fuse does not, and refuses all but destroying, so zcsi-node
reserves a little of the pool for them."""
import contextlib
import errno
import os

import pytest

from client import MIB
from daemon import wait_for
from host import get, Host, RESERVED, run, Volume
from snapshots import drop, take, trashed
from staged import points


def fill(path):
    """Write to a file until the pool is full."""
    for size in (MIB, MIB // 16, 4096):
        with pytest.raises(OSError) as full, open(path, "ab", buffering=0) as file:
            while True:
                file.write(os.urandom(size))
                os.fsync(file.fileno())
        assert full.value.errno == errno.ENOSPC


def reservation(host):
    return int(get(host.parent, "refreservation"))


def is_reserved(host):
    """Wait until space is reserved, which each scan of the pool tries. ZFS may free a volume's
    space only after `zfs destroy` has ended."""
    def is_whole():
        host.read_again()
        return reservation(host) == RESERVED
    wait_for(is_whole, "space is reserved")


def test_a_full_pool_is_emptied(pools):
    pool = pools.create(f"full{os.getpid()}", megabytes=80)
    with contextlib.closing(Host(pool)) as host:
        run("zfs", "set", "refreservation=none", host.parent)
        host.start()
        is_reserved(host)
        large, small, before = (Volume(host, "large", size=1024 * MIB), Volume(host, "small"),
                                Volume(host, "before"))
        before.create()
        take(before, "first")
        before.delete()
        for volume in (large, small):
            volume.up()
        take(small)
        fill(f"{large.target}/file")
        for volume in (small, large):
            volume.down()
        assert points(host) == []
        small.delete()
        assert len(trashed(host)) == 2
        for name in ("small@s", "before@first"):
            drop(host, name)
        large.delete()
        wait_for(lambda: host.leaves() == ["_trash"], "the trash is reaped")
        large.create()
        is_reserved(host)


def test_a_reservation_of_an_administrator_stays(new_host):
    host = new_host()
    run("zfs", "set", f"refreservation={RESERVED + MIB}", host.parent)
    host.start().read_again()
    assert reservation(host) == RESERVED + MIB
