# SPDX-License-Identifier: MPL-2.0
"""The image of `make image`, run by podman with the folders that jobs/node.nomad.hcl gives a
container. If the kernel has no ZFS, zfs-fuse runs on the host. Everything runs in namespaces of its
own (tests/nomad/alone), with mounts shared as systemd shares a host's."""
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from client import MIB, ROOT  # noqa: E402
from daemon import BUILD  # noqa: E402
from host import Host, get, Volume  # noqa: E402
from pool import Pools  # noqa: E402

JOB = (ROOT / "jobs/node.nomad.hcl").read_text()
IMAGE = re.search(r'"(zcsi:[^"]+)"', JOB)[1]
HOST_PROGRAMS = {"zfs", "zpool", "exportfs", "mkfs.ext4", "e2fsck", "tune2fs", "mkfs.xfs",
                 "xfs_admin", "modprobe"}
SBOM = Path("usr/local/share/zcsi/sbom.spdx.json")
FOLDERS = re.findall(r'^ +"(/[^"]*:/[^"]+)",', JOB, re.MULTILINE)
# The runtime runc and lower limits work on hosts that are containers themselves.
PODMAN = ("podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs", "run", "--rm",
          "--network", "host", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")


@pytest.fixture(scope="module")
def folders():
    """Create the folders of the job that are missing, because podman does not create them."""
    made = [path for path in (Path(each.split(":")[0]) for each in FOLDERS) if not path.exists()]
    for path in made:
        path.mkdir()
    yield
    for path in made:
        shutil.rmtree(path)  # lock files stay in /run/zcsi


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


@pytest.mark.parametrize("program", ["zcsi-node", "zcsi-controller", "zcsi"])
def test_image_has_the_programs_of_this_tree(program):
    assert said(*PODMAN, IMAGE, program, "--version") == said(BUILD / program, "--version")


@pytest.fixture(scope="module")
def files():
    """The files of the image: a name and a function that returns its content for each."""
    create = subprocess.run(["podman", "create", IMAGE, "none"], stdout=subprocess.PIPE, text=True,
                            check=True)
    container = create.stdout.strip()
    with subprocess.Popen(["podman", "export", container], stdout=subprocess.PIPE) as export:
        with tarfile.open(fileobj=export.stdout, mode="r|") as archive:
            files = {each.name: each.isfile() and archive.extractfile(each).read()
                     for each in archive if not each.isdir()}
    subprocess.run(["podman", "rm", container], stdout=subprocess.PIPE, check=True)
    assert export.returncode == 0
    return files


def test_image_has_programs_and_their_libraries_only(files):
    """podman itself adds empty files of /etc, /dev and /run, where it mounts its own."""
    names = {Path(name).name for name, content in files.items() if content != b""}
    libraries = {name for name in names if ".so." in name}
    assert {name.split(".so.")[0].split("-")[0] for name in libraries} == {
        "ld", "libblkid", "libc", "libcrypto", "libevent_core", "libmd", "libnghttp2",
        "libprotobuf", "libssl"}
    assert names - libraries == {
        "zcsi-controller", "zcsi-node", "zcsi", *HOST_PROGRAMS, "passwd", "group", SBOM.name}


def test_the_sbom_has_the_packages_of_the_libraries(files):
    sbom = json.loads(files[str(SBOM)])
    assert (sbom["spdxVersion"], sbom["dataLicense"]) == ("SPDX-2.3", "CC0-1.0")
    packages = {each["name"]: each for each in sbom["packages"]}
    ours = packages.pop("zcsi")
    assert f"zcsi {ours['versionInfo']}\n" == said(BUILD / "zcsi", "--version")[1]
    assert packages.keys() == {
        "libblkid1", "libc6", "libevent-core-2.1-7", "libmd0", "libnghttp2-14", "libprotobuf-c1",
        "libssl3"}
    assert {(each["spdxElementId"], each["relatedSpdxElement"]) for each in sbom["relationships"]
            } == {("SPDXRef-DOCUMENT", ours["SPDXID"]),
                  *((ours["SPDXID"], each["SPDXID"]) for each in packages.values())}
    for name, each in packages.items():
        version = each["versionInfo"].replace("+", "%2B")
        assert each["externalRefs"][0]["referenceLocator"].startswith(
            f"pkg:deb/debian/{name}@{version}?arch=")


def test_image_has_no_shell():
    status, text = said(*PODMAN, IMAGE, "sh")
    assert status == 127, text


def test_check_finds_the_hosts_pool(node, pool):
    status, text = said(*node, "zcsi-node", "--check", "--dataset", f"{pool}/zcsi")
    assert (status, f"ok pool of '{pool}/zcsi'" in text) == (0, True), text


def test_check_reports_what_the_container_lacks(pool):
    status, text = said(*PODMAN, IMAGE, "zcsi-node", "--check", "--dataset", f"{pool}/zcsi")
    assert status == 1
    assert "zpool is the host's: give the container the host's /proc as /host/proc" in text
    assert "MISSING capability CAP_SYS_ADMIN" in text


def test_a_volume_in_the_hosts_pool_is_visible_on_the_host(node, pool):
    with closing(Host(pool)) as host:
        # The first word is the program of this host.
        host.node_daemon.argv[:1] = (*node, "zcsi-node")
        host.controller_daemon.argv[:1] = (
            *PODMAN, "--volume", "/tmp:/tmp", IMAGE, "zcsi-controller")
        volume = Volume(host.start(), "data").up()
        Path(volume.target, "note").write_text("of the host")
        assert volume.expand(16 * MIB).capacity_bytes == 16 * MIB
        assert get(host.dataset("data"), "refquota") == str(16 * MIB)
        seen = os.statvfs(volume.target)
        assert seen.f_blocks * seen.f_frsize > 15 * MIB
        volume.down().delete()
        assert (host.leaves(), host.mounts()) == ([], [])
