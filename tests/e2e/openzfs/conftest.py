# SPDX-License-Identifier: MPL-2.0
"""Hosts that reach each other over a network."""
import contextlib
import functools
import os

import pytest

from host import Host
from namespaces import Namespaces, Site
from nfs import Server


@pytest.fixture(scope="session")
def namespaces():
    """namespaces(number): that host's, made when they are first asked for."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.closing(Site()))
        yield functools.cache(
            lambda number: stack.enter_context(contextlib.closing(Namespaces(number))))


@pytest.fixture(scope="session")
def own_pool(pools):
    """own_pool(number): that host's, too."""
    return functools.cache(lambda number: pools.create(f"host{number}-{os.getpid()}"))


@pytest.fixture(scope="session")
def new_member(namespaces, own_pool):
    """new_member(number): a context of a host n1, n2 and so on, not started, in its namespaces and
    on its pool. What else is given is for it."""
    def make(number, node_args=(), **kwargs):
        own = namespaces(number)
        own.plug()
        return contextlib.closing(
            Host(own_pool(number), node_id=f"n{number}", namespaces=own,
                 node_args=("--address", own.address, *node_args), **kwargs))
    return make


@pytest.fixture(scope="session")
def new_cluster(new_member):
    """new_cluster(count): a context of so many of them. The controller of the first knows all; what
    else is given is for it."""
    @contextlib.contextmanager
    def make(count, **kwargs):
        with contextlib.ExitStack() as stack:
            others = [stack.enter_context(new_member(number)) for number in range(2, count + 1)]
            agents = [f"unix://{other.agent_socket}" for other in others]
            yield [stack.enter_context(new_member(1, agents=agents, **kwargs)), *others]
    return make


@pytest.fixture
def new_hosts(new_cluster):
    """new_hosts(count): a cluster, for as long as the test runs."""
    with contextlib.ExitStack() as stack:
        yield lambda count: stack.enter_context(new_cluster(count))


@pytest.fixture(scope="session")
def server(namespaces):
    """n1's NFS server, which may have been stopped."""
    with contextlib.closing(Server(namespaces(1))) as made:
        yield made
