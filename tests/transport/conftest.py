# SPDX-License-Identifier: MPL-2.0
"""A controller for all tests of a file, and one that a test may stop."""
import sys

import pytest

from frames import Controller, Peer

sys.dont_write_bytecode = True


def started(folder):
    controller = Controller(folder)
    yield controller
    if controller.process.poll() is None:
        assert controller.stop() == 0


@pytest.fixture(scope="module")
def controller(tmp_path_factory):
    yield from started(tmp_path_factory.mktemp("zcsi"))


@pytest.fixture
def own_controller(tmp_path):
    yield from started(tmp_path)


@pytest.fixture
def peer(controller):
    with Peer(controller.path) as connection:
        yield connection
    controller.probe()


def pytest_make_parametrize_id(val):
    """Bytes and field lists make no readable names."""
    return type(val).__name__ if isinstance(val, (bytes, list)) else None
