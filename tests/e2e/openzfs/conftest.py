# SPDX-License-Identifier: MPL-2.0
"""Hosts that reach each other over a network."""
import contextlib
import os

import pytest

from host import Host
from namespaces import Namespaces, Site


@pytest.fixture(scope="session")
def site():
    with contextlib.closing(Site()) as made:
        yield made


@pytest.fixture(scope="session")
def own_pool(pools):
    """own_pool(number): that host's, made when it is first asked for."""
    made = {}

    def get(number):
        if number not in made:
            made[number] = pools.create(f"host{number}-{os.getpid()}")
        return made[number]
    return get


@pytest.fixture(scope="session")
def new_cluster(site, own_pool):
    """new_cluster(count): a context of hosts n1, n2 and so on, not started, each with namespaces
    and a pool of its own. The controller of the first knows all; what else is given is for it."""
    @contextlib.contextmanager
    def make(count, node_args=(), **kwargs):
        with contextlib.ExitStack() as stack:
            def host(number, node_args=(), **kwargs):
                namespaces = stack.enter_context(contextlib.closing(Namespaces(number)))
                made = Host(own_pool(number), node_id=f"n{number}", namespaces=namespaces,
                            node_args=("--address", namespaces.address, *node_args), **kwargs)
                return stack.enter_context(contextlib.closing(made))

            others = [host(number) for number in range(2, count + 1)]
            agents = [f"unix://{other.agent_socket}" for other in others]
            yield [host(1, node_args, agents=agents, **kwargs), *others]
    return make


@pytest.fixture
def new_hosts(new_cluster):
    """new_hosts(count): a cluster, for as long as the test runs."""
    with contextlib.ExitStack() as stack:
        yield lambda count: stack.enter_context(new_cluster(count))
