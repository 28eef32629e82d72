# SPDX-License-Identifier: MPL-2.0
"""The packages of `make deb` in fresh roots of Debian 12 and 13. tests/deb/upgrade tests an upgrade
while a volume is in use."""
import re
from pathlib import Path

from conftest import hashes, install
from roots import ROOT, files

PROGRAMS = ("zcsi", "zcsi-controller", "zcsi-host-volume", "zcsi-node")
VERSION = re.search(r"^VERSION *:= *(.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")
USER = "zcsi:x:"


def wanted(program):
    """Return the path of a unit by which systemd starts it at boot."""
    return f"/etc/systemd/system/multi-user.target.wants/{program}.service"


def test_a_commit_has_one_file_of_sources(dist, new_dist):
    again = new_dist()
    assert again.name == dist.name
    assert again.read_bytes() == dist.read_bytes()


def test_two_builds_give_the_same_files(built):
    first = hashes(built.first)
    assert len(first) == 8  # a package and its symbols for each program, and the two of the source
    assert hashes(built.second) == first


def test_lintian_finds_nothing(built):
    [changes] = built.first.glob("*.changes")
    said = built.root.run("lintian", "--allow-root", "--display-info", "--fail-on", "warning",
                          f"/first/build/deb/{changes.name}")
    assert "hardening-" not in said


def test_the_programs_run(installed):
    for program in PROGRAMS:
        assert installed.root.run(program, "--version").strip() == f"{program} {VERSION}"


def test_the_pages_are_found(installed):
    found = installed.root.run("man", "-w", "zcsi-volumes", *PROGRAMS).split()
    assert [name.rsplit("/", 1)[1] for name in found] == [
        "zcsi-volumes.7.gz", *(f"{program}.8.gz" for program in PROGRAMS)]


def test_systemd_verifies_the_units(installed):
    assert installed.root.run("systemd-analyze", "verify", *map(wanted, PROGRAMS[1:]),
                              SYSTEMD_LOG_TARGET="console") == ""


def test_a_daemon_waits_for_its_configuration(installed):
    for name in ("node", "controller"):
        unit = installed.root.run("cat", wanted(f"zcsi-{name}"))
        assert f"\nConditionPathExists=/etc/zcsi/{name}.env\n" in unit
        assert f"\nExecStart=/usr/sbin/zcsi-{name}\n" in unit
        assert f"zcsi-{name} waits for /etc/zcsi/{name}.env" in installed.said


def test_the_user_and_the_folders_exist(installed):
    root = installed.root
    assert USER in root.path("etc/passwd").read_text()
    assert root.run("stat", "-c", "%a %U", "/run/zcsi", "/var/cache/zcsi", "/etc/zcsi").split(
        "\n") == ["755 root", "700 root", "755 root", ""]


def test_the_papers_that_README_links_to_are_there(installed):
    papers = installed.root.path("usr/share/doc/zcsi")
    for page in ("README.md", "jobs/README.md", "jobs/CHANGES.md"):
        links = LINK.findall((papers / page).read_text())
        assert links
        for link in links:
            installed.root.run("test", "-e", Path("/usr/share/doc/zcsi", page).parent / link)
    job = (papers / "jobs/node.nomad.hcl").read_text()
    assert 'default = "/usr/sbin/zcsi-node"' in job


def test_a_unit_of_make_install_is_reported(release, packages):
    root = release.root("local")
    earlier = root.path("usr/local/lib/systemd/system/zcsi-node.service")
    earlier.parent.mkdir(parents=True)
    earlier.write_text("")
    _, said = install(root, packages)
    assert f"/{earlier.relative_to(root.folder)} is in the way" in said


def test_configuration_is_purged_and_certificates_are_kept(release, packages):
    """Configuration stays until the packages are purged, and certificates stay then as well."""
    root = release.root("purged")
    before, _ = install(root, packages)
    certificate = root.path("etc/zcsi/ca.pem")
    certificate.write_text("")
    configured = [root.path(f"etc/zcsi/{name}.env") for name in ("node", "controller")]
    for path in configured:
        path.write_text("")
    root.apt("remove", *PROGRAMS)
    assert all(path.exists() for path in configured)
    assert not any(root.path(f"usr/sbin/{program}").exists() for program in PROGRAMS)
    root.apt("purge", *PROGRAMS)
    assert files(root) - before == {"/etc/zcsi", "/etc/zcsi/ca.pem"}
    assert before - files(root) == set()
    assert USER in root.path("etc/passwd").read_text()
