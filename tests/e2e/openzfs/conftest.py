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


@pytest.fixture
def new_hosts(site, own_pool):
    """new_hosts(count): hosts n1, n2, … with namespaces and a pool of their own, not started. The
    first one's controller knows them all."""
    with contextlib.ExitStack() as stack:
        def host(number, agents=()):
            namespaces = stack.enter_context(contextlib.closing(Namespaces(number)))
            made = Host(own_pool(number), node_id=f"n{number}", namespaces=namespaces,
                        agents=agents, node_args=("--address", namespaces.address))
            return stack.enter_context(contextlib.closing(made))

        def make(count):
            others = [host(number) for number in range(2, count + 1)]
            agents = [f"unix://{other.agent_socket}" for other in others]
            return [host(1, agents), *others]
        yield make
