# SPDX-License-Identifier: MPL-2.0
"""Several hosts in one machine. Each has its own network and mount table: the others reach it by
its address. Mounts of a host are visible to the others and to the tests only below /tmp, where the
tests have their folders."""
import contextlib
import subprocess
from pathlib import Path

from daemon import wait_for
from host import run

NETWORK = "10.77.0"
BRIDGE = "zcsi0"
MACHINE = f"{NETWORK}.254"
NOBODY = "02:00:00:00:00:01"  # no host has this address on the bridge


def ip(*words):
    return run("ip", *words)


class Site:
    """The bridge that connects the hosts. The machine itself has the address .254 there."""

    def __init__(self):
        run("mount", "--bind", "/tmp", "/tmp")
        run("mount", "--make-shared", "/tmp")
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("address", "add", f"{MACHINE}/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")

    def close(self):
        ip("link", "delete", BRIDGE)
        run("umount", "--lazy", "/tmp")


class Here:
    """The network and the mount table of the test process itself, with the interface of
    Namespaces."""
    root = Path("/")
    prefix = ()
    run = staticmethod(run)


class Namespaces:
    """The network and the mount table of one host, until close(). plug() connects it to the
    bridge."""

    def __init__(self, number):
        self.address = f"{NETWORK}.{number}"
        self.port = f"zcsi{number}"
        self.holder = subprocess.Popen(
            ["unshare", "--net", "--uts", "--mount", "--propagation", "unchanged",
             "sleep", "infinity"])
        pid = self.holder.pid
        wait_for(lambda: Path(f"/proc/{pid}/comm").read_text() == "sleep\n", "the namespaces")
        self.root = Path(f"/proc/{pid}/root")
        self.prefix = ("nsenter", f"--target={pid}", "--net", "--uts", "--mount")
        # An NFS client identifies itself to a server by its host name.
        self.run("hostname", f"n{number}")
        ip("link", "add", self.port, "master", BRIDGE, "type", "veth",
           "peer", "name", "eth0", "netns", str(pid))
        self.run("ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")
        self.run("ip", "link", "set", "lo", "up")

    def run(self, *argv):
        return run(*self.prefix, *argv)

    def mounts(self):
        """Return the mount table as text."""
        return Path(f"/proc/{self.holder.pid}/mountinfo").read_text()

    def plug(self):
        ip("link", "set", self.port, "up")

    def unplug(self):
        """Drop all packets to and from the host. Connections stay open, as when a cable breaks."""
        ip("link", "set", self.port, "down")

    @contextlib.contextmanager
    def cut_off_from(self, *addresses):
        """Within the block, all packets to these addresses get lost, so no connection to or from
        them works. The others reach this host."""
        for address in addresses:
            self.run("ip", "neighbour", "replace", address, "lladdr", NOBODY, "dev", "eth0", "nud",
                     "permanent")
        try:
            yield
        finally:
            for address in addresses:
                self.run("ip", "neighbour", "delete", address, "dev", "eth0")

    def close(self):
        ip("link", "delete", self.port)
        self.holder.kill()
        self.holder.wait()
