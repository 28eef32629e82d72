# SPDX-License-Identifier: MPL-2.0
"""Fixtures: a host on a real pool, whose daemons a real Prometheus watches. A missing prerequisite
is an error, never a skip."""
import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from gate import Gate  # noqa: E402
from host import Host  # noqa: E402
from pool import Pools  # noqa: E402
import prometheus  # noqa: E402
import tables  # noqa: E402

TRASH_FREE = 5  # percent


def pytest_configure(config):
    for tool in ("prometheus", "promtool"):
        if not shutil.which(tool):
            raise pytest.UsageError(f"{tool} is not installed: run make check")


@pytest.fixture(scope="session")
def gate(tmp_path_factory):
    made = Gate(tmp_path_factory.mktemp("gate"), "zfs")
    yield made
    os.close(made.lock)


@pytest.fixture(scope="session")
def host(gate):
    """A host whose daemons serve metrics on a port each, and keep deleted volumes."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="zcsi-pool-"))
        pools = stack.enter_context(contextlib.closing(Pools(folder)))
        made = stack.enter_context(contextlib.closing(Host(
            pools.create(f"alerts{os.getpid()}", 512), env=gate.env,
            node_args=["--rescan", 1, "--trash-ttl", 100000, "--trash-free", TRASH_FREE,
                       "--overcommit", 100, "--limit", "data=1G"],
            controller_args=["--roll-call", 1])))
        for daemon in (made.node_daemon, made.controller_daemon):
            daemon.port = prometheus.free_port()
            daemon.argv += ["--metrics", f"tcp://127.0.0.1:{daemon.port}"]
        yield made.start()


@pytest.fixture(scope="session")
def watch(host, tmp_path_factory):
    """A Prometheus that watches this host, and a page of tables.py."""
    targets = [f"127.0.0.1:{daemon.port}" for daemon in (host.node_daemon, host.controller_daemon)]
    with contextlib.ExitStack() as stack:
        page = stack.enter_context(contextlib.closing(tables.Page()))
        made = prometheus.Prometheus(tmp_path_factory.mktemp("prometheus"), targets, [page.address])
        stack.enter_context(contextlib.closing(made))
        yield made.start()
