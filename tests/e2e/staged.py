# SPDX-License-Identifier: MPL-2.0
"""Volumes as a node has them, in order and in disorder."""
from client import capability
from host import run, Volume


def sibling(volume, mode="SINGLE_NODE_WRITER", **mount):
    """The same volume with paths of its own, as Nomad has for another kind of claim."""
    other = Volume(volume.host, volume.id)
    other.capability = capability(mode, **mount)
    return other


def used(volume, mode="SINGLE_NODE_WRITER", **mount):
    """Created, staged and published for one mode."""
    volume.create()
    volume.capability = capability(mode, **mount)
    volume.stage()
    volume.publish()
    return volume


def points(host):
    return [point for point, _ in host.mounts()]


def bare(path):
    """A mount without a role, as if its staging had been unmounted by hand."""
    run("mount", "--make-private", path)
