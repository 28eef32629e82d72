# SPDX-License-Identifier: MPL-2.0
"""Both daemons in the sandboxes of their units in jobs/systemd: they work, and each sandbox denies
what it should. The units under systemd itself are tested in openzfs/test_systemd.py."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from certificates import files
from daemon import BUILD
from host import mounts, Volume
from processes import status
from units import NOBODY, sandbox, settings
from test_tls import free_port

CAPABILITIES = settings("zcsi-node")["CapabilityBoundingSet"]


def own(folder):
    """Make a folder that user nobody owns and can reach."""
    os.chown(folder, NOBODY, NOBODY)
    os.chmod(folder, 0o755)
    return folder


@pytest.fixture
def host(new_host, certificates):
    """A host whose daemons run in their sandboxes and reach each other over TLS."""
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    made = new_host(node_args=("--agent-endpoint", endpoint, *files(certificates, "node.example"),
                               "--allow", "controller.example"))
    own(made.folder)
    # Copies of the credentials, as systemd makes them, and of the program, whose folder user nobody
    # may not enter.
    for path in (BUILD / "zcsi-controller", *files(certificates, "controller.example")[1::2]):
        os.chown(shutil.copy(path, made.folder), NOBODY, NOBODY)
    made.node_daemon.argv[:0] = sandbox("zcsi-node")
    argv = made.controller_daemon.argv
    argv[0] = f"{made.folder}/zcsi-controller"
    argv[argv.index("--agent") + 1] = endpoint
    argv += map(str, files(Path(made.folder), "controller.example"))
    argv[:0] = sandbox("zcsi-controller", made.folder)
    return made.start()


def test_a_volume_lives_a_whole_life(host):
    volume = Volume(host, "data").up()
    Path(volume.target, "file").write_text("kept")
    assert Path(volume.staging, "file").read_text() == "kept"
    volume.expand(2 * volume.size)
    volume.down().delete()
    assert mounts(f"{host.folder}/") == []


def test_a_root_directory_gets_its_owner(host):
    volume = Volume(host, "given")
    volume.create(parameters={"owner": "1000", "group": "1001", "mode": "2750"})
    volume.attach()
    volume.stage()
    found = os.stat(volume.staging)
    assert (found.st_uid, found.st_gid, oct(found.st_mode)) == (1000, 1001, "0o42750")


def test_a_process_of_another_user_that_uses_a_volume_is_named(host):
    volume = Volume(host, "used").up()
    os.chmod(volume.target, 0o777)
    with subprocess.Popen(["setpriv", f"--reuid={NOBODY}", "--clear-groups", "sh", "-c",
                           "echo; read _"], cwd=volume.target, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as user:
        user.stdout.readline()
        problem = host.node.NodeUnpublishVolume.future(
            volume_id=volume.id, target_path=volume.target).details()
        user.stdin.close()
    assert f"(pid {user.pid})" in problem
    volume.down()


def test_the_controller_is_user_nobody_without_capabilities(host):
    is_now = status(host.controller_daemon.process.pid)
    assert is_now["Uid"].split() == is_now["Gid"].split() == [str(NOBODY)] * 4
    assert [int(is_now[name], 16) for name in ("CapPrm", "CapEff", "CapInh", "CapBnd")] == [0] * 4
    assert (is_now["NoNewPrivs"], is_now["Seccomp"]) == ("1", "2")


def test_the_node_has_no_other_capabilities(host):
    is_now = status(host.node_daemon.process.pid)
    bound, held = int(is_now["CapBnd"], 16), int(is_now["CapPrm"], 16)
    # On a host that lacks some of the unit's capabilities, the bounding set lacks them too.
    assert 0 < held.bit_count() < bound.bit_count() <= len(CAPABILITIES)
    assert held & ~bound == 0
    assert is_now["CapEff"] == is_now["CapPrm"]
    assert (is_now["NoNewPrivs"], is_now["Seccomp"]) == ("1", "2")


def test_the_units_capabilities_are_those_that_check_asks_for(tmp_path):
    """--check names CAP_MKNOD and CAP_SYS_RESOURCE only if the kernel has OpenZFS."""
    endpoints = ("--endpoint", f"{tmp_path}/a", "--agent-endpoint", f"{tmp_path}/b",
                 "--zfs-user", "nobody")
    done = subprocess.run([BUILD / "zcsi-node", "--check", *endpoints], capture_output=True,
                          text=True)
    names = {line.split()[2].rstrip(":") for line in done.stdout.splitlines()
             if " capability " in line}
    assert names | {"CAP_MKNOD", "CAP_SYS_RESOURCE"} == set(CAPABILITIES)


def test_check_passes_in_the_sandbox(tmp_path):
    shared = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
              'mount --make-rshared / && exec "$@"', "sh"]
    done = subprocess.run(
        [*shared, *sandbox("zcsi-node"), BUILD / "zcsi-node", "--check", "--endpoint",
         f"{tmp_path}/a", "--agent-endpoint", f"{tmp_path}/b"], capture_output=True, text=True)
    assert (done.returncode, "MISSING" in done.stdout) == (0, False), done.stdout


# Python programs that succeed outside of a sandbox and fail within. The exit status distinguishes a
# refused address family from a socket that fails for want of a capability.
TRIES = {
    "mmap": "import mmap; mmap.mmap(-1, 4096, prot=mmap.PROT_WRITE | mmap.PROT_EXEC)",
    "socket": """import errno, socket
try:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
except OSError as error:
    exit(error.errno == errno.EAFNOSUPPORT)""",
    "namespace": "import ctypes; c = ctypes.CDLL(None, use_errno=True); "
                 "assert c.unshare(0x4000000) == 0",
    "persona": "import ctypes; assert ctypes.CDLL(None).personality(0xffffffff) != -1",
    "call": "import ctypes; c = ctypes.CDLL(None, use_errno=True); "
            "c.ptrace(0, 0, 0, 0) and exit(1)",
}


@pytest.mark.parametrize("program", ["zcsi-node", "zcsi-controller"])
@pytest.mark.parametrize("attempt", TRIES)
def test_the_sandbox_refuses(program, attempt):
    words = [sys.executable, "-c", TRIES[attempt]]
    assert subprocess.run(words, capture_output=True).returncode == 0
    with tempfile.TemporaryDirectory(prefix="zcsi-unit-") as folder:
        inside = sandbox(program, own(folder))
        assert subprocess.run([*inside, "true"], capture_output=True).returncode == 0
        assert subprocess.run([*inside, *words], capture_output=True).returncode != 0


def test_the_controller_can_write_to_its_own_folder_alone():
    with tempfile.TemporaryDirectory(prefix="zcsi-unit-") as folder, \
            tempfile.TemporaryDirectory(prefix="zcsi-unit-") as other:
        inside = sandbox("zcsi-controller", own(folder))
        own(other)
        subprocess.run([*inside, "touch", f"{folder}/file"], check=True)
        done = subprocess.run([*inside, "touch", f"{other}/file"], capture_output=True, text=True)
        assert "Read-only file system" in done.stderr
