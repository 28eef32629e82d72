# SPDX-License-Identifier: MPL-2.0
"""Real pools on sparse files, created and destroyed by jobs/local/host.sh, which starts zfs-fuse if
the kernel has no ZFS and stops it after the last pool."""
from client import ROOT
from host import run


def host_sh(*words):
    script = '. jobs/local/host.sh && "$@"'
    run("bash", "-euo", "pipefail", "-c", script, "host.sh", *map(str, words), cwd=ROOT)


class Pools:
    """Pools with their images in `folder`; close() destroys them."""

    def __init__(self, folder):
        self.folder = folder
        self.names = []

    def create(self, name, megabytes=1024):
        self.names.append(name)
        host_sh("host_pool_create", name, megabytes, self.folder)
        return name

    def close(self):
        for name in self.names:
            host_sh("host_pool_destroy", name, self.folder)
