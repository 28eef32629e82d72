# SPDX-License-Identifier: MPL-2.0
"""The trash is emptied early on OpenZFS, which frees the space of what was destroyed in the
background, and tells of it by events."""
from client import MIB
from host import run, SIZE
from snapshots import in_zfs, trashed
from test_trash_early import delete, emptied, filled, WRITTEN

LONG = 100000


def test_no_more_goes_while_space_is_being_freed(new_host):
    """Each destroyed volume counts as free at once, so the third one stays."""
    host = new_host(node_args=["--trash-ttl", LONG, "--trash-free", 60, "--rescan", 1]).start()
    for name, ago in (("a", 3000), ("b", 2000), ("c", 1000)):
        delete(host, filled(host, name), ago)
    host.limit(3 * WRITTEN + 3 * MIB)
    assert [line["volume"] for line in emptied(host)] == ["a", "b"]
    assert len(trashed(host)) == 1


def test_snapshots_of_backups_go_too(new_host):
    host = new_host(node_args=["--trash-ttl", LONG, "--trash-free", 90, "--rescan", 1]).start()
    volume = filled(host, "data")
    run("zfs", "snapshot", host.dataset("data@_backup-2026-01-01T00:00:00.000000Z-n2"))
    delete(host, volume)
    host.limit(SIZE)
    assert [line["volume"] for line in emptied(host)] == ["data"]
    assert trashed(host) == [] and in_zfs(host) == []
