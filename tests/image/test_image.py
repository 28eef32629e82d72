# SPDX-License-Identifier: MPL-2.0
"""The image of `make image`, run by podman with the folders that jobs/node.nomad.hcl gives a
container. If the kernel has no ZFS, zfs-fuse runs on the host. Everything runs in namespaces of its
own (tests/nomad/alone), with mounts shared as systemd shares a host's."""
import os
import re
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from client import MIB, ROOT  # noqa: E402
from daemon import BUILD  # noqa: E402
from host import Host, get, Volume  # noqa: E402
from pool import Pools  # noqa: E402

JOB = (ROOT / "jobs/node.nomad.hcl").read_text()
IMAGE = re.search(r'"(zcsi:[^"]+)"', JOB)[1]
FOLDERS = re.findall(r'^ +"(/[^"]*:/[^"]+)",', JOB, re.MULTILINE)
# The runtime runc and lower limits work on hosts that are containers themselves.
PODMAN = ("podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs", "run", "--rm",
          "--network", "host", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
# The first word of a Daemon's argv is the program's path on this host; run the image's instead.
PROGRAM = ("sh", "-c", 'exec "/usr/local/sbin/${0##*/}" "$@"')


@pytest.fixture(scope="module")
def folders():
    """Create the folders of the job that are missing, because podman does not create them."""
    made = [path for path in (Path(each.split(":")[0]) for each in FOLDERS) if not path.exists()]
    for path in made:
        path.mkdir()
    yield
    for path in made:
        path.rmdir()


@pytest.fixture(scope="module")
def node(folders):
    """The words of a podman command that runs the image with the privileges and folders of the job.
    The words of a program follow."""
    volumes = [word for each in (*FOLDERS, "/tmp:/tmp:rshared") for word in ("--volume", each)]
    return *PODMAN, "--privileged", *volumes, IMAGE


@pytest.fixture(scope="module")
def pool():
    with tempfile.TemporaryDirectory(prefix="zcsi-pool-") as folder:
        with closing(Pools(folder)) as pools:
            yield pools.create(f"image{os.getpid()}")


def said(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("daemon", ["zcsi-node", "zcsi-controller"])
def test_image_has_the_daemons_of_this_tree(daemon):
    assert said(*PODMAN, IMAGE, daemon, "--version") == said(BUILD / daemon, "--version")


@pytest.mark.parametrize("program", ["cc", "gcc", "ld", "make", "python3"])
def test_image_has_no_build_tools(program):
    status, _ = said(*PODMAN, IMAGE, "sh", "-c", f"command -v {program}")
    assert status == 127


def test_check_finds_the_hosts_pool(node, pool):
    status, text = said(*node, "zcsi-node", "--check", "--dataset", f"{pool}/zcsi")
    assert (status, f"ok pool of '{pool}/zcsi'" in text) == (0, True), text


def test_check_reports_what_the_container_lacks(pool):
    status, text = said(*PODMAN, IMAGE, "zcsi-node", "--check", "--dataset", f"{pool}/zcsi")
    assert status == 1
    assert "zpool is the host's: give the container the host's /proc as /host/proc" in text
    assert "MISSING capability CAP_SYS_ADMIN" in text


def test_a_volume_in_the_hosts_pool_is_visible_on_the_host(node, pool):
    container = SimpleNamespace(prefix=(*node, *PROGRAM))
    with closing(Host(pool, namespaces=container)) as host:
        host.controller_daemon.argv[:0] = (*PODMAN, "--volume", "/tmp:/tmp", IMAGE, *PROGRAM)
        volume = Volume(host.start(), "data").up()
        Path(volume.target, "note").write_text("of the host")
        assert volume.expand(16 * MIB).capacity_bytes == 16 * MIB
        assert get(host.dataset("data"), "refquota") == str(16 * MIB)
        seen = os.statvfs(volume.target)
        assert seen.f_blocks * seen.f_frsize > 15 * MIB
        volume.down().delete()
        assert (host.leaves(), host.mounts()) == ([], [])
