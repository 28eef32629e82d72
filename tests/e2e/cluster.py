# SPDX-License-Identifier: MPL-2.0
"""Several hosts with zcsi-node, and controllers that know all of them."""
import tempfile
from pathlib import Path

from daemon import Daemon, wait_for
from host import Host
from wire import Wire


class Cluster:
    """Hosts a, b, ... on the given pools, and `controllers` controllers. The controllers know the
    agents by --agent options, or by an agents file if `listed`; if `wired`, they reach each agent
    through a Wire."""

    def __init__(self, pools, controllers=1, controller_args=(), node_args=(), listed=False,
                 wired=False, env=None):
        self.temporary = tempfile.TemporaryDirectory(prefix="zcsi-cluster-")
        self.folder = self.temporary.name
        self.hosts = [Host(pool, node_id=chr(ord("a") + n), node_args=node_args, env=env)
                      for n, pool in enumerate(pools)]
        for host in self.hosts:
            host.start_node()
        self.wires = [Wire(f"{self.folder}/wire-{host.node_id}", host.agent_socket)
                      for host in self.hosts] if wired else []
        self.list = Path(self.folder, "agents")
        if listed:
            self.list.write_text(self.lines())
        words = ["--agents-file", self.list] if listed else self.agent_words()
        self.daemons = [
            Daemon("zcsi-controller", self.folder, *words, *controller_args,
                   name=f"controller-{n}").start()
            for n in range(controllers)]
        self.controllers = [daemon.client() for daemon in self.daemons]
        for host in self.hosts:
            host.controller = self.controllers[0]

    def agent_words(self):
        sockets = [wire.path for wire in self.wires] or [host.agent_socket for host in self.hosts]
        return [word for socket in sockets for word in ("--agent", f"unix://{socket}")]

    def lines(self, *hosts):
        """Return the contents of an agents file with the agents of these hosts, or of all."""
        return "".join(f"unix://{host.agent_socket}\n" for host in hosts or self.hosts)

    def where(self):
        """Return a map from each dataset in the pools to the ids of the hosts that have it."""
        found = {}
        for host in self.hosts:
            for leaf in host.leaves():
                found.setdefault(leaf, []).append(host.node_id)
        return found

    def settled(self):
        """Wait until each controller gets an answer from every agent."""
        def all_answer():
            return all(client.ListVolumes.future().code().name == "OK"
                       for client in self.controllers)
        wait_for(all_answer, "all agents answer", 60)

    def close(self):
        for daemon in self.daemons:
            if daemon.running():
                daemon.stop()
        for wire in self.wires:
            wire.close()
        for host in self.hosts:
            host.close()
        self.temporary.cleanup()
