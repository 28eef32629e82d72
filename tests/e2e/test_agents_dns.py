# SPDX-License-Identifier: MPL-2.0
"""dns:///HOST:PORT: the agents are those at the addresses of a name, as of a headless Service of
Kubernetes. Each daemon has an /etc/hosts of the test, and no name server."""
import contextlib
import subprocess

import grpc
import pytest

from certificates import files
from client import refused, topology
from daemon import BUILD, Daemon, wait_for
from host import Host, Volume
from test_tls import free_port

CODE = grpc.StatusCode
NAME = "node.example"  # in the certificate of each node, beside 127.0.0.1
MOUNT = 'mount --bind "$1" /etc/hosts && mount --bind "$2" /etc/resolv.conf && shift 2 && exec "$@"'


class Named:
    """Hosts a and b, whose agents have one port and one certificate, and a controller that knows
    their name alone."""

    def __init__(self, pool, certificates, folder, name=NAME):
        self.hosts_file = folder / "hosts"
        resolver = folder / "resolv.conf"
        resolver.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        self.addresses()
        self.prefix = ["unshare", "--mount", "sh", "-c", MOUNT, "sh", self.hosts_file, resolver]
        port = free_port()
        self.endpoint = f"dns:///{name}:{port}"
        self.trust = files(certificates, "controller.example")
        self.hosts = [Host(pool, node_id=node, node_args=(
            "--agent-endpoint", f"tcp://127.0.0.{number}:{port}", *files(certificates, NAME)))
            for number, node in enumerate("ab", 1)]
        self.daemon = Daemon("zcsi-controller", folder, "--agent", self.endpoint, "--roll-call",
                             "1", *self.trust, prefix=self.prefix)

    def addresses(self, *numbers):
        self.hosts_file.write_text("".join(f"127.0.0.{number} {NAME}\n" for number in numbers))

    def start(self):
        for host in self.hosts:
            host.start_node()
        self.daemon.start()
        for host in self.hosts:
            host.controller = self.daemon.client()
        return self

    def says(self, message):
        wait_for(lambda: message in self.daemon.text(), f"the controller logs '{message}'")

    def volumes(self):
        """Return the ids of the volumes, or None while an agent has not answered yet."""
        call = self.hosts[0].controller.ListVolumes.future()
        return {entry.volume.volume_id for entry in call.result().entries} \
            if call.code() is CODE.OK else None

    def on(self, host, name):
        volume = Volume(host, name)
        volume.create(accessibility_requirements=topology(host.node_id))
        assert name in host.leaves()
        return volume

    def close(self):
        if self.daemon.running():
            self.daemon.stop()
        for host in self.hosts:
            host.close()


@pytest.fixture
def named(pool, certificates, tmp_path):
    with contextlib.ExitStack() as stack:
        def make(**kwargs):
            return stack.enter_context(contextlib.closing(
                Named(pool, certificates, tmp_path, **kwargs)))
        yield make


def test_each_address_is_an_agent(named):
    both = named()
    both.addresses(1, 2)
    both.start()
    for host in both.hosts:
        both.on(host, f"data-{host.node_id}")
    assert both.volumes() == {"data-a", "data-b"}
    done = subprocess.run([*both.prefix, BUILD / "zcsi", "--agent", both.endpoint, *both.trust,
                           "nodes", "-H"], capture_output=True, text=True)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["a", "b"], done.stderr


def test_an_address_that_is_gone_is_a_host_that_is_away(named):
    both = named()
    both.addresses(1, 2)
    a, b = both.start().hosts
    both.on(b, "data")
    both.addresses(1)
    both.says("agent is off the list")
    wait_for(lambda: both.volumes() == set(), "b is not asked")
    with refused(CODE.UNAVAILABLE, naming="'b'"):
        Volume(a, "data").delete()
    both.on(a, "other")
    both.addresses(1, 2)
    wait_for(lambda: both.volumes() == {"data", "other"}, "it is back")
    Volume(a, "data").delete()


def test_a_name_that_is_not_known_yet_hides_no_volume(named):
    both = named()
    a, b = both.start().hosts
    both.says("cannot resolve the names of agents, keeping the previous list")
    with refused(CODE.UNAVAILABLE, naming="no agent is known"):
        Volume(a, "data").delete()
    both.addresses(1, 2)
    both.says("list of agents is updated")
    wait_for(lambda: a.controller.ListVolumes.future().code() is CODE.OK, "they are asked")
    both.on(b, "data")
    said = both.daemon.text().count("cannot resolve the names")
    both.addresses()  # the name server fails: the agents stay
    wait_for(lambda: both.daemon.text().count("cannot resolve the names") > said, "it is logged")
    assert both.volumes() == {"data"}


def test_the_certificate_has_the_name(named):
    other = named(name="other.example")
    other.hosts_file.write_text("127.0.0.1 other.example\n")
    other.start()
    with refused(CODE.UNAVAILABLE, naming=("?name=other.example", "certificate")):
        Volume(other.hosts[0], "data").create()
