# SPDX-License-Identifier: MPL-2.0
"""Fixtures: a release of Debian, the packages as it builds them, and a root with them installed."""
import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from roots import ROOT, Release, files, run  # noqa: E402

# How the second build differs from the first. The folder, the time and the files' dates do anyway.
OTHERWISE = {"TZ": "Pacific/Kiritimati", "LANG": "C", "CFLAGS": "-O0", "BUILD": "elsewhere"}


@pytest.fixture(scope="session", params=["bookworm", "trixie"])
def release(request):
    with tempfile.TemporaryDirectory(prefix="zcsi-deb-", dir="/var/tmp") as folder:
        yield Release(request.param, Path(folder))


@pytest.fixture(scope="session")
def new_dist(tmp_path_factory):
    """A function that returns the path of a new file of `make dist`."""
    def make():
        env = {**os.environ, "BUILD": str(tmp_path_factory.mktemp("dist"))}
        return Path(run("jobs/local/dist", cwd=ROOT, env=env).strip())
    return make


@pytest.fixture(scope="session")
def dist(new_dist):
    return new_dist()


def build(root, dist, name, umask, **env):
    """Build in the folder /name, and return the folder of the packages."""
    tree = root.path(name)
    tree.mkdir(parents=True)
    run("tar", "-xf", dist, "-C", tree, "--strip-components=1")
    root.run("sh", "-e", "-c", f"umask {umask}; cd /{name}; exec jobs/local/deb", **env)
    return tree / env.get("BUILD", "build") / "deb"


@pytest.fixture(scope="session")
def built(release, dist):
    """The packages, in one folder for each of two builds, and the root in which they were built.
    The first build runs `make test` too. It has the packages of Build-Depends and no others."""
    root = release.root("build")
    root.apt("install", "build-essential", "lintian")
    control = root.path("source/debian")
    control.parent.mkdir()
    shutil.copytree(ROOT / "jobs/debian", control)
    root.apt("build-dep", "/source")
    return SimpleNamespace(root=root, first=build(root, dist, "first", "022", CHECK="1"),
                           second=build(root, dist, "other/name", "077", **OTHERWISE))


@pytest.fixture(scope="session")
def packages(built):
    """The paths of the three packages by name."""
    return {path.name.split("_")[0]: path for path in built.first.glob("*.deb")
            if "-dbgsym_" not in path.name}


def install(root, packages):
    """Install the packages and return the file list before, and what apt said. Libraries are
    installed first: they stay when a package is purged."""
    for path in packages.values():
        shutil.copy(path, root.path("tmp"))
    names = [f"/tmp/{path.name}" for path in packages.values()]
    for name in names:
        root.apt("satisfy", root.run("dpkg-deb", "-f", name, "Depends"))
    before = files(root)
    return before, root.apt("install", *names)


@pytest.fixture(scope="session")
def installed(release, packages):
    root = release.root("installed")
    before, said = install(root, packages)
    return SimpleNamespace(root=root, before=before, said=said)


def hashes(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in folder.iterdir() if path.suffix in (".deb", ".dsc", ".xz")}
