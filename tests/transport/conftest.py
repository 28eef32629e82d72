# SPDX-License-Identifier: MPL-2.0
"""Fixtures: a controller for all tests of a file, and one that a test may stop."""
import subprocess
import sys

import pytest

from frames import Controller, Peer, ROOT, Tcp, Tls, Unix
from harmless import harmless

sys.dont_write_bytecode = True


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    subprocess.run([ROOT / "jobs/local/certs", folder, "localhost,127.0.0.1"], check=True)
    return folder


@pytest.fixture(scope="module", params=[Unix, Tcp, Tls], ids=["unix", "tcp", "tls"])
def place(request, certificates):
    """Every test of HTTP/2 runs over a unix socket, TCP and TLS."""
    return lambda folder: request.param(folder, certificates)


def started(folder, place):
    controller = Controller(folder, place=place(folder))
    yield controller
    if controller.process.poll() is None:
        assert controller.stop() == 0


@pytest.fixture(scope="module")
def controller(tmp_path_factory, place):
    yield from started(tmp_path_factory.mktemp("zcsi"), place)


@pytest.fixture
def own_controller(tmp_path, place):
    yield from started(tmp_path, place)


@pytest.fixture
def peer(controller):
    with Peer(controller.place) as connection:
        yield connection
    controller.probe()


@pytest.fixture
def attack(controller):
    with harmless(controller), Peer(controller.place) as peer:
        peer.until(lambda: peer.settings)
        yield peer


def pytest_make_parametrize_id(val):
    """Parameters that are bytes or lists of fields get numbers as names, because their own would
    not be readable."""
    return type(val).__name__ if isinstance(val, (bytes, list)) else None
