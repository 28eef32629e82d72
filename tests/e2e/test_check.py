# SPDX-License-Identifier: MPL-2.0
"""zcsi-node --check on hosts that have everything that volumes need, and on hosts that lack one
thing. Nothing is simulated: each check runs in a mount namespace and with capabilities of its
own."""
import os
import re
import subprocess
from pathlib import Path

import pytest

from certificates import files
from daemon import BUILD
from host import datasets, KERNEL_ZFS, run, tree

# Make all mounts shared, whatever their propagation on this host.
SHARED = "mount --make-rprivate / && mount --make-rshared /"
NEEDED = ("CAP_SYS_ADMIN", "CAP_CHOWN", "CAP_FOWNER", "CAP_FSETID", "CAP_DAC_OVERRIDE",
          "CAP_SYS_PTRACE", "CAP_SYS_CHROOT")


def in_namespace(mounts, propagation="private"):
    """Return the words of a command that runs another one in a mount namespace after these mount
    commands, and waits for its end, so that the namespace exists as long."""
    return ("unshare", "--mount", "--propagation", propagation, "sh", "-c",
            f'{mounts} && "$@"; exit $?', "sh")


class Answer:
    """The output of --check: (word, rest) of each line, and the exit status."""

    def __init__(self, done):
        self.status, self.text = done.returncode, done.stdout
        self.lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
        assert done.stderr == ""
        assert {word for word, _ in self.lines} <= {"ok", "optional", "MISSING"}

    def has(self, thing):
        return ["ok", thing] in self.lines

    def missing(self):
        return [line for word, line in self.lines if word == "MISSING"]


@pytest.fixture
def parent(pool):
    name = f"{pool}/checked"
    run("zfs", "create", "-o", "canmount=off", "-o", "mountpoint=none", name)
    yield name
    run("zfs", "destroy", name)


@pytest.fixture
def check(parent, tmp_path):
    """A function that runs --check with these options on a host that lacks only what the test
    takes away."""
    def run_it(*args, mounts=SHARED, prefix=(), path=None, dataset=parent):
        endpoints = [f"unix://{tmp_path}/{name}/{name}.sock" for name in ("node", "agent")]
        program = ["env", f"PATH={path}"] if path else []
        return Answer(subprocess.run(
            [*in_namespace(mounts), *prefix, *program, str(BUILD / "zcsi-node"), "--check",
             "--dataset", dataset, "--endpoint", endpoints[0], "--agent-endpoint", endpoints[1],
             *map(str, args)], capture_output=True, text=True))
    return run_it


def test_a_complete_host_passes(check, parent, certificates):
    answer = check(*files(certificates, "node.example"))
    assert (answer.status, answer.missing()) == (0, []), answer.text
    for thing in ("system call mount_setattr(2)", "mount propagation below '/'", "TLS",
                  f"pool of '{parent}'", f"dataset '{parent}'"):
        assert answer.has(thing), f"{thing}: {answer.text}"
    for name in NEEDED:
        assert answer.has(f"capability {name}")
    assert sum(line.startswith("endpoint ") for _, line in answer.lines) == 2


def test_nothing_is_changed(check, parent, tmp_path):
    before = datasets(parent), run("zfs", "get", "all", parent), tree(tmp_path)
    assert check().status == 0
    assert (datasets(parent), run("zfs", "get", "all", parent), tree(tmp_path)) == before


def lacks(answer, thing, *words):
    """Check that only this thing is missing, and that its line contains the words."""
    assert answer.status == 1
    [line] = answer.missing()
    assert line.startswith(f"{thing}: "), answer.text
    for word in words:
        assert word in line


def test_missing_programs_are_reported(check, parent):
    lacks(check(path="/nonexistent"), f"pool of '{parent}'", "'zpool' is not on this host",
          "install zfsutils-linux")


def test_a_missing_pool_is_reported(check):
    lacks(check(dataset="no-such-pool/zcsi"), "pool of 'no-such-pool/zcsi'", "zpool import")


def test_a_missing_parent_is_reported(check, pool):
    lacks(check(dataset=f"{pool}/none"), f"dataset '{pool}/none'", f"none {pool}/none'")


@pytest.mark.parametrize("changes, words", [
    (("canmount=on", "mountpoint=/run/zcsi-check"), "run 'zfs set canmount=off "),
    (("readonly=on",), "run 'zfs set readonly=off ")])
def test_a_parent_with_wrong_properties_is_reported(check, parent, changes, words):
    for change in changes:
        run("zfs", "set", change, parent)
    lacks(check(), f"dataset '{parent}'", words + parent)


def test_no_pool_is_needed_without_a_dataset(check):
    answer = check(dataset="")
    assert answer.status == 0
    assert not any(line.startswith(("pool", "dataset")) for _, line in answer.lines)


def test_bugs_of_openzfs_are_reported(check):
    """zcsi-node serves in spite of these bugs, so they are optional. zfs-fuse has none of them."""
    answer = check()
    assert answer.status == 0
    things = ("copies of encrypted volumes", "zfs send of encrypted data without -w",
              "files that are copied just after they were written")
    told = [[word for word, line in answer.lines if line.startswith(thing)] for thing in things]
    if not KERNEL_ZFS:
        assert told == [[], [], []]
        return
    text = Path("/sys/module/zfs/version").read_text(encoding="ascii")
    version = [int(number) for number in re.match(r"(\d+)\.(\d+)\.(\d+)", text).groups()]
    has = (version < [2, 1, 13],
           [2, 0, 0] <= version < [2, 2, 8] or [2, 3, 0] <= version < [2, 3, 3],
           [2, 1, 4] <= version < [2, 1, 14] and "+deb12u" not in text or
           [2, 2, 0] <= version < [2, 2, 2])
    assert told == [["optional" if bug else "ok"] for bug in has], answer.text


def test_private_mounts_are_reported(check):
    lacks(check(mounts="true"), "mount propagation", "--make-rshared /")


def test_mounts_of_a_systemd_unit_with_its_own_namespace_are_reported(check):
    """systemd makes the unit's mounts slaves of the host's, then shared in a peer group of their
    own."""
    lacks(check(prefix=in_namespace("mount --make-rshared /", "slave")), "mount propagation",
          "ProtectSystem")


def test_a_folder_with_shared_mounts_is_enough(check, tmp_path):
    folder = tmp_path / "staging"
    folder.mkdir()
    answer = check(mounts=f"mount --bind {folder} {folder} && mount --make-shared {folder}")
    assert answer.status == 0
    assert answer.has(f"mount propagation below '{folder}'")


@pytest.mark.parametrize("name", NEEDED)
def test_a_missing_capability_is_reported(check, name):
    without = f"-{name[4:].lower()}"
    answer = check(prefix=("setpriv", "--bounding-set", without, "--inh-caps", without))
    lacks(answer, f"capability {name}", "run zcsi-node as root")


def test_mismatched_certificates_are_reported(check, certificates):
    ca, cert, key = [(option, f"{certificates}/{name}") for option, name in (
        ("--tls-ca", "ca.pem"), ("--tls-cert", "node.example.pem"),
        ("--tls-key", "stranger.example.key"))]
    lacks(check(*ca, *cert, *key), "TLS", key[1], "is not that of certificate")
    lacks(check(*ca, *cert), "TLS", "--tls-key is missing")
    lacks(check(*ca, *cert, key[0], "/nonexistent"), "TLS", "'/nonexistent'")


@pytest.mark.parametrize("endpoint, words", [
    ("unix:///nonexistent/folder/a.sock", "create its directory"),
    ("tcp://0.0.0.0:1", "--insecure"), ("ftp://host", "tcp://HOST:PORT")])
@pytest.mark.parametrize("option", ["--endpoint", "--agent-endpoint", "--metrics"])
def test_an_unusable_endpoint_is_reported(check, option, endpoint, words):
    lacks(check(option, endpoint), f"endpoint '{endpoint}'", words)


def test_every_reported_capability_is_tested(check):
    told = [line.split()[1].rstrip(":") for _, line in check().lines
            if line.startswith("capability ")]
    assert [name for name in told if name not in ("CAP_MKNOD", "CAP_SYS_RESOURCE")] == list(NEEDED)


def test_lines_are_printed_before_a_zfs_that_hangs_is_given_up(parent, new_gate):
    gate = new_gate("zpool")
    gate.hold(" get ")
    program = subprocess.Popen(
        [BUILD / "zcsi-node", "--check", "--dataset", parent, "--zfs-timeout", "600"],
        env={**os.environ, **gate.env}, stdout=subprocess.PIPE)
    try:
        gate.arrived()
        os.set_blocking(program.stdout.fileno(), False)
        printed = program.stdout.read() or b""
        assert printed.startswith(b"ok system call mount_setattr(2)\n"), printed
        assert b" pool of " not in printed
    finally:
        gate.open()
        program.kill()
        program.wait()


def test_a_zfs_that_hangs_is_given_up_after_its_timeout(parent, new_gate):
    """The default of --zfs-timeout is two minutes, longer than the test waits."""
    gate = new_gate("zpool")
    gate.hold(" get ")
    program = subprocess.Popen(
        [BUILD / "zcsi-node", "--check", "--dataset", parent, "--zfs-timeout", "1"],
        env={**os.environ, **gate.env}, stdout=subprocess.PIPE, text=True)
    try:
        lines = program.communicate(timeout=60)[0].splitlines()
    finally:
        gate.open()
        program.kill()
        program.wait()
    assert any(line.startswith("MISSING pool of") and "has not ended" in line for line in lines)
    assert program.returncode == 1
