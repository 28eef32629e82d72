# SPDX-License-Identifier: MPL-2.0
"""Fixtures: several hosts that reach each other over a network."""
import contextlib
import functools
import os

import pytest

from certificates import files
from client import ROOT
from copies import Pair
from host import Host, run
from namespaces import Namespaces, Site
from nfs import Server


@pytest.fixture(scope="session")
def namespaces():
    """A function that returns the Namespaces of the host with this number, made at its first
    call."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.closing(Site()))
        yield functools.cache(
            lambda number: stack.enter_context(contextlib.closing(Namespaces(number))))


@pytest.fixture(scope="session")
def own_pool(pools):
    """A function that returns the pool of the host with this number, made at its first call."""
    return functools.cache(lambda number: pools.create(f"host{number}-{os.getpid()}"))


@pytest.fixture(scope="session")
def new_member(namespaces, own_pool):
    """A function that returns a context with the host n1, n2 and so on, not started, in its own
    namespaces and on its own pool. Other arguments are those of Host."""
    def make(number, node_args=(), **kwargs):
        own = namespaces(number)
        own.plug()
        return contextlib.closing(
            Host(own_pool(number), node_id=f"n{number}", namespaces=own,
                 node_args=("--address", own.address, *node_args), **kwargs))
    return make


@pytest.fixture(scope="session")
def new_cluster(new_member):
    """A function that returns a context with a list of hosts n1, n2 and so on, not started. The
    controller of the first knows all agents. Other arguments are those of the first Host."""
    @contextlib.contextmanager
    def make(count, **kwargs):
        with contextlib.ExitStack() as stack:
            others = [stack.enter_context(new_member(number)) for number in range(2, count + 1)]
            agents = [f"unix://{other.agent_socket}" for other in others]
            yield [stack.enter_context(new_member(1, agents=agents, **kwargs)), *others]
    return make


@pytest.fixture
def new_hosts(new_cluster):
    """A function that returns a cluster of `count` hosts, which exists as long as the test runs."""
    with contextlib.ExitStack() as stack:
        yield lambda count: stack.enter_context(new_cluster(count))


@pytest.fixture(scope="session")
def new_server(namespaces):
    """A function that returns the NFS server of the host with this number, made at its first call.
    A test has to start it."""
    with contextlib.ExitStack() as stack:
        yield functools.cache(
            lambda number: stack.enter_context(contextlib.closing(Server(namespaces(number)))))


@pytest.fixture(scope="session")
def server(new_server):
    """The NFS server of n1, which a test has to start."""
    return new_server(1)


@pytest.fixture
def new_pair(new_member, tmp_path):
    """A function that returns a context with a Pair. Its arguments are the environments of the two
    zcsi-nodes."""
    @contextlib.contextmanager
    def make(owner_env=None, other_env=None):
        file = tmp_path / "agents"
        args = ("--agents-file", str(file))
        with new_member(1, node_args=args, env=owner_env) as owner, \
                new_member(2, node_args=args, env=other_env) as other:
            owner.controller_daemon.argv += ["--agent", f"unix://{other.agent_socket}"]
            file.write_text("".join(f"unix://{host.agent_socket}\n" for host in (owner, other)))
            yield Pair([owner, other])
    return make


@pytest.fixture
def pair(new_pair):
    with new_pair() as made:
        yield made


@pytest.fixture(scope="session")
def member_certificates(namespaces, tmp_path_factory):
    """A folder with certificates of the nodes n1 to n4 and of an operator."""
    folder = tmp_path_factory.mktemp("members")
    run(str(ROOT / "jobs/local/certs"), str(folder), "operator.zcsi", "n4,node.zcsi",
        *(f"n{number},{namespaces(number).address},node.zcsi" for number in (1, 2, 3)))
    return folder


@pytest.fixture
def trio(new_member, namespaces, member_certificates, tmp_path):
    """A Pair of three hosts, each with its own pool, network and certificate, which reach each
    other by mutual TLS alone."""
    file = tmp_path / "agents"
    allowed = ("zcsi.v1.Agent=operator.zcsi", "zcsi.v1.Copy=operator.zcsi",
               "zcsi.v1.Agent/GetHost=node.zcsi", "zcsi.v1.Replica=node.zcsi",
               "zcsi.v1.Backup=n3")
    addresses = {number: f"tcp://{namespaces(number).address}:9740" for number in (1, 2, 3)}
    with contextlib.ExitStack() as stack:
        hosts = [stack.enter_context(new_member(number, node_args=(
            "--agent-endpoint", address, "--agents-file", str(file),
            *files(member_certificates, f"n{number}"),
            *(word for name in allowed for word in ("--allow", name)))))
                 for number, address in addresses.items()]
        file.write_text("".join(f"{address}\n" for address in addresses.values()))
        for host in hosts:
            host.controller_daemon.argv += [word for other in hosts if other is not host
                                            for word in ("--agent", f"unix://{other.agent_socket}")]
        words = [word for address in addresses.values() for word in ("--agent", address)]
        yield Pair(hosts, [*words, *map(str, files(member_certificates, "operator.zcsi"))])
