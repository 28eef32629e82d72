# SPDX-License-Identifier: MPL-2.0
"""Helpers for volumes that are staged and published on a node."""
from client import capability
from host import run, Volume


def sibling(volume, mode="SINGLE_NODE_WRITER", **mount):
    """Return the same volume with another access mode and other staging and target paths, because
    Nomad has separate paths for each mode."""
    other = Volume(volume.host, volume.id)
    other.capability = capability(mode, **mount)
    return other


def used(volume, mode="SINGLE_NODE_WRITER", **mount):
    """Create, stage and publish the volume for one access mode."""
    volume.create()
    volume.capability = capability(mode, **mount)
    volume.stage()
    volume.publish()
    return volume


def points(host):
    return [point for point, _ in host.mounts()]


def bare(path):
    """Make a mount private. zcsi recognises the role of a mount, staging or target, by its
    propagation; a private mount has none, like a target whose staging mount is gone."""
    run("mount", "--make-private", path)
