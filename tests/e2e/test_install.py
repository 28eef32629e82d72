# SPDX-License-Identifier: MPL-2.0
"""`make install` and `make uninstall`: what is installed refers to itself, and all of it goes."""
import re
import subprocess
from pathlib import Path

import pytest

from client import ROOT
from daemon import BUILD
from host import run

PREFIX = "/opt/zcsi"
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")
# Functions in place of zsh's builtins, which work only while a command line is edited.
ZSH = """compdef() { : }
_describe() { print -rl -- ${(P)2%%:*} }
fpath=($1 $fpath)
autoload -Uz _zcsi
words=(zcsi '') CURRENT=2
_zcsi
"""


def make(target, folder):
    run("make", "--assume-old=all", target, f"BUILD={BUILD}", f"DESTDIR={folder}",
        f"PREFIX={PREFIX}", cwd=ROOT)


@pytest.fixture
def tree(tmp_path):
    make("install", tmp_path)
    return tmp_path / PREFIX.lstrip("/")


def test_linked_pages_are_installed(tree):
    papers = tree / "share/doc/zcsi"
    for page in ("README.md", "jobs/README.md", "jobs/CHANGES.md"):
        for link in LINK.findall((ROOT / page).read_text()):
            assert (papers / page).parent.joinpath(link).exists(), f"{page}: {link}"


def test_units_and_jobs_name_the_installed_programs(tree):
    for name in ("node", "controller"):
        program = f"{PREFIX}/sbin/zcsi-{name}"
        assert Path(f"{tree}/sbin/zcsi-{name}").exists()
        unit = (tree / f"lib/systemd/system/zcsi-{name}.service").read_text()
        assert f"\nExecStart={program}\n" in unit
        job = (tree / f"share/doc/zcsi/jobs/{name}.nomad.hcl").read_text()
        assert f'default = "{program}"' in job


def test_a_shell_finds_the_completion(tree):
    """The first word that is completed makes zsh call the file itself."""
    share = tree / "share"
    assert (share / "fish/vendor_completions.d/zcsi.fish").stat().st_size > 0
    said = run("bash", "-c", f"source {share}/bash-completion/completions/zcsi; complete -p zcsi")
    assert "_zcsi" in said
    done = subprocess.run(["zsh", "-fc", ZSH, "zsh", share / "zsh/site-functions"],
                          capture_output=True, text=True, check=True)
    assert "failover" in done.stdout.split(), done.stderr


def test_nothing_stays_after_uninstall(tree, tmp_path):
    foreign = tree / "share/man/man8/another.8"
    foreign.write_text("")
    make("uninstall", tmp_path)
    assert [path for path in tree.rglob("*") if not path.is_dir()] == [foreign]
    assert not (tree / "share/doc/zcsi").exists()
