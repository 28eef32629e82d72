# SPDX-License-Identifier: MPL-2.0
"""The namespaces of tests/nomad/alone: programs in them must not affect the host."""
import subprocess

from client import ROOT

# A host, in a mount namespace of its own, that has an entry in /var/lib/zfs/zpool.cache. $1 is
# `alone`, which runs the words after it.
HOST = """mount -t tmpfs host /var/lib && mkdir /var/lib/zfs &&
echo pool >/var/lib/zfs/zpool.cache &&
exec unshare --mount --propagation slave --net --pid --fork --kill-child --mount-proc "$@"
"""


def on_a_host_with_pools(*words):
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", HOST, "sh", *words],
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_pools_of_the_host_are_not_imported():
    """zfs-fuse imports the pools in /var/lib/zfs/zpool.cache when it starts. The host is made here,
    so that the test looks whatever ZFS the present host has."""
    look = ("ls", "-A", "/var/lib/zfs")
    assert on_a_host_with_pools(*look) == ["zpool.cache"]
    assert on_a_host_with_pools(ROOT / "tests/nomad/alone", "--inside", *look) == []
