# SPDX-License-Identifier: MPL-2.0
"""Fixtures: several hosts that reach each other over a network."""
import contextlib
import functools
import os

import pytest

from copies import Pair
from host import Host
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
def server(namespaces):
    """The NFS server of n1. A test may have stopped it."""
    with contextlib.closing(Server(namespaces(1))) as made:
        yield made


@pytest.fixture
def new_pair(new_member, tmp_path):
    """A function that returns a context with a Pair; with environments for the two zcsi-nodes."""
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
