# SPDX-License-Identifier: MPL-2.0
"""The packages of jobs/rpm/zcsi.spec: the same files at each build, and in each what belongs there.
rpmbuild itself fails if a file of `make install` is in none."""
import hashlib
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    "zcsi": ["/usr/sbin/zcsi", "/usr/share/man/man7/zcsi-volumes.7", "/usr/share/man/man8/zcsi.8",
             "/usr/share/doc/zcsi/README.md", "/usr/share/doc/zcsi/jobs/node.nomad.hcl",
             "/usr/share/bash-completion/completions/zcsi"],
    "zcsi-node": ["/etc/zcsi", "/usr/sbin/zcsi-node", "/usr/sbin/zcsi-host-volume",
                  "/usr/lib/systemd/system/zcsi-node.service",
                  "/usr/lib/sysusers.d/zcsi-node.conf", "/usr/lib/tmpfiles.d/zcsi-node.conf"],
    "zcsi-controller": ["/etc/zcsi", "/usr/sbin/zcsi-controller",
                        "/usr/lib/systemd/system/zcsi-controller.service"]}


def run(*words, **env):
    done = subprocess.run(words, cwd=ROOT, env={**os.environ, **env}, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(folder, umask, **env):
    """Return the packages of a build in the folder, by name."""
    printed = run("sh", "-ec", f"umask {umask}; exec jobs/local/rpm", BUILD=str(folder), **env)
    return {run("rpm", "-qp", "--qf", "%{NAME}", path): Path(path)
            for path in printed.splitlines() if "-debug" not in path}


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    return build(tmp_path_factory.mktemp("first"), "022")


def test_another_build_gives_the_same_files(packages, tmp_path):
    again = build(tmp_path, "077", TZ="Pacific/Kiritimati", CFLAGS="-O0")

    def digests(of):
        return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in of.items()}
    assert digests(again) == digests(packages)


@pytest.mark.parametrize("name", FILES)
def test_a_package_has_its_files(packages, name):
    found = {path.removesuffix(".gz") for path in run("rpm", "-qlp", packages[name]).splitlines()}
    assert set(FILES[name]) <= found
    others = {file for other in FILES if other != name for file in FILES[other]} - {"/etc/zcsi"}
    assert not others & found


def test_the_programs_run(packages, tmp_path):
    version = None
    for path in packages.values():
        archive = subprocess.run(["rpm2cpio", path], capture_output=True, check=True).stdout
        subprocess.run(["cpio", "-idm", "--quiet"], input=archive, cwd=tmp_path, check=True)
    for program in ("zcsi", "zcsi-node", "zcsi-controller"):
        said = run(str(tmp_path / "usr/sbin" / program), "--version").split()[-1]
        assert version in (None, said)
        version = said
    unit = (tmp_path / "usr/lib/systemd/system/zcsi-node.service").read_text()
    assert "ExecStart=/usr/sbin/zcsi-node" in unit
