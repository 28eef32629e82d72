# SPDX-License-Identifier: MPL-2.0
"""The kernel's NFS server on a host with its own namespaces, for NFS 4 only: without statd and
rpcbind. Its state files and export files are the host's own, too."""
import subprocess
from pathlib import Path

from daemon import wait_for

EXPORTS = "/etc/exports.d"
ETAB = "/var/lib/nfs/etab"
SHARES = "/run/zcsi-nfs"
KNOBS = {"nfsv4leasetime": 10, "nfsv4gracetime": 10}


class Server:
    def __init__(self, namespaces):
        self.namespaces = namespaces
        self.run = namespaces.run
        self.root = namespaces.root
        self.mountd = None
        for folder in (EXPORTS, "/var/lib/nfs", SHARES):
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.mount_own(folder)
        self.run("mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd")

    def mount_own(self, folder):
        self.run("mount", "-t", "tmpfs", "-o", "mode=711", "own", folder)

    def file(self, path):
        return self.root / path.lstrip("/")

    def start(self):
        """Start the server unless it runs."""
        if self.mountd:
            return self
        self.run("exportfs", "-r")
        self.mountd = subprocess.Popen(
            [*self.namespaces.prefix, "rpc.mountd", "--foreground", "--no-nfs-version", "3"],
            stderr=subprocess.DEVNULL)  # mountd complains that no rpcbind runs
        for name, value in KNOBS.items():
            self.run("sh", "-c", f"echo {value} > /proc/fs/nfsd/{name}")
        self.run("rpc.nfsd", "--no-nfs-version", "3", "4")
        wait_for(lambda: self.run("cat", "/proc/fs/nfsd/threads") == "4\n", "the NFS server")
        return self

    def stop(self):
        if self.mountd:
            self.run("rpc.nfsd", "0")
            self.mountd.kill()
            self.mountd.wait()
            self.mountd = None

    def clear(self):
        """Remove all exports and their mounts, which would keep the datasets of a test busy."""
        self.run("exportfs", "-ua")
        for record in self.file(EXPORTS).iterdir():
            record.unlink()
        self.run("umount", "--recursive", "--lazy", SHARES)
        self.mount_own(SHARES)

    def close(self):
        self.stop()

    def exports(self):
        """Return {(path, client): ro or rw} of the exports that exportfs has given the kernel."""
        found = {}
        for line in self.file(ETAB).read_text().splitlines():
            path, client = line.split("\t")
            address, options = client.rstrip(")").split("(")
            found[path, address] = options.split(",")[0]
        return found

    def recorded(self):
        """Return the text of the export files in /etc/exports.d."""
        return "".join(path.read_text() for path in self.file(EXPORTS).glob("*.exports"))
