# SPDX-License-Identifier: MPL-2.0
"""Fixtures: one real pool for the session, a host of its own for each test. A missing prerequisite
is an error, never a skip.

The tests in this folder run on any ZFS that the host has. Those in openzfs/ need the kernel's ZFS
and change the machine (devices, NFS exports, network namespaces, systemd), so they run in the lab
only, where OPENZFS is the version. test_zfs_fuse.py is for zfs-fuse alone. They share the fixtures
of this file and the modules next to it, so a module name must not be in both folders."""
import contextlib
import os
import shutil
import sys
import tempfile

import pytest

import certificates as made_certificates
from crash.points import build_shim
from crash.trial import Trial
from daemon import BUILD, Daemon
from gate import Gate
from host import Host, KERNEL_ZFS, run, Volume
from pool import Pools

sys.dont_write_bytecode = True
collect_ignore = [] if "OPENZFS" in os.environ else ["openzfs"]
collect_ignore += ["test_zfs_fuse.py"] if KERNEL_ZFS else []


def pytest_configure(config):
    missing = [name for name in ("zcsi-node", "zcsi-controller") if not (BUILD / name).exists()]
    if missing:
        raise pytest.UsageError(f"{BUILD} has no {' and no '.join(missing)}; run make first")
    if os.geteuid() != 0:
        raise pytest.UsageError("mounting needs root")
    for tool in ("zfs", "zpool"):
        if not shutil.which(tool):
            raise pytest.UsageError(f"{tool} is not installed")


@pytest.fixture(scope="session")
def pools():
    with tempfile.TemporaryDirectory(prefix="zcsi-pool-") as folder:
        made = Pools(folder)
        yield made
        made.close()


@pytest.fixture(scope="session")
def pool(pools):
    return pools.create(f"e2e{os.getpid()}")


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    return made_certificates.make(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(autouse=True)
def no_daemon_survives():
    before = len(Daemon.started)
    yield
    for daemon in Daemon.started[before:]:
        if daemon.running():
            daemon.kill()


@pytest.fixture
def new_host(pool):
    """A function that returns a host, not yet started; it takes the arguments of Host."""
    with contextlib.ExitStack() as stack:
        def make(**kwargs):
            return stack.enter_context(contextlib.closing(Host(pool, **kwargs)))
        yield make


@pytest.fixture
def host(new_host):
    return new_host().start()


@pytest.fixture
def volume(host):
    return Volume(host, "data")


@pytest.fixture
def dataset(host):
    """The ZFS name of `volume`."""
    return host.dataset("data")


@pytest.fixture
def other(new_host):
    """A second host."""
    return new_host(node_id="n2").start()


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    return build_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture(scope="session")
def new_trial(pool, shim):
    """A function that returns a Trial of cases whose calls need only one host."""
    @contextlib.contextmanager
    def new_host(case, env):
        with contextlib.closing(Host(pool, node_args=case.node_args, env=env)) as host:
            yield host.start()
    return lambda cases: Trial(cases, shim, new_host)


@pytest.fixture
def new_gate():
    """A function that returns a Gate for the program with this name."""
    with contextlib.ExitStack() as stack:
        def make(name):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="zcsi-gate-"))
            made = Gate(folder, name)
            stack.callback(os.close, made.lock)
            return made
        yield make


@pytest.fixture
def gate(new_gate):
    return new_gate("zfs")


@pytest.fixture
def gated(new_host, gate):
    """A host on which zfs is called through the gate."""
    return new_host(env=gate.env).start()


@pytest.fixture
def by_hand(host):
    """A function that runs zfs create below the host's parent, as an administrator would."""
    def create(leaf, properties):
        options = [word for item in properties.items() for word in ("-o", "=".join(item))]
        run("zfs", "create", "-o", "canmount=noauto", *options, host.dataset(leaf))
        return host.dataset(leaf)
    return create
