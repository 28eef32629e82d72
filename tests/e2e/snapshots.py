# SPDX-License-Identifier: MPL-2.0
"""Helpers for tests of snapshots, clones and the trash."""
from host import run, Volume


def take(volume, name="s"):
    return volume.host.controller.CreateSnapshot(
        source_volume_id=volume.id, name=name).snapshot


def drop(host, snapshot_id):
    host.controller.DeleteSnapshot(snapshot_id=snapshot_id)


def listed(host, **filters):
    answer = host.controller.ListSnapshots(**filters)
    return [entry.snapshot.snapshot_id for entry in answer.entries]


def pages(host, size, between=lambda page: None):
    """Yield the ids of each page; between(page) is called after each."""
    token = ""
    while True:
        answer = host.controller.ListSnapshots(max_entries=size, starting_token=token)
        page = [entry.snapshot.snapshot_id for entry in answer.entries]
        yield page
        between(page)
        token = answer.next_token
        if not token:
            return


def of_snapshot(snapshot_id):
    return {"volume_content_source": {"snapshot": {"snapshot_id": snapshot_id}}}


def of_volume(volume_id):
    return {"volume_content_source": {"volume": {"volume_id": volume_id}}}


def clone(volume, name="copy", **fields):
    """Create a volume as a clone of another one."""
    copy = Volume(volume.host, name)
    copy.create(**{**of_volume(volume.id), **fields})
    return copy


def restore(host, snapshot_id, name="copy", **fields):
    """Create a volume from a snapshot."""
    copy = Volume(host, name)
    copy.create(**{**of_snapshot(snapshot_id), **fields})
    return copy


def in_zfs(host):
    """Return the snapshots in ZFS, hidden ones too, without the parent's name."""
    names = run("zfs", "list", "-rH", "-t", "snapshot", "-o", "name", host.parent).split()
    return sorted(name[len(host.parent) + 1:] for name in names)


def trashed(host):
    """Return the names of the datasets in the trash."""
    return [leaf.removeprefix("_trash/") for leaf in host.leaves() if leaf.startswith("_trash/")]
