# SPDX-License-Identifier: MPL-2.0
"""An sshd on this host with keys made for the test, and an ssh in PATH whose configuration has the
user's and the host's key, as ~/.ssh would."""
import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

from daemon import wait_for
from host import run
from processes import children
from test_tls import free_port

SERVER = """
ListenAddress {address}
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/client_key.pub
PidFile none
StrictModes no
UsePAM no
LogLevel VERBOSE
SetEnv PATH={path}
"""
CLIENT = """
IdentityFile {folder}/client_key
IdentitiesOnly yes
UserKnownHostsFile {folder}/known_hosts
Port {port}
"""


def tree(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the process has ended
        return [pid, *(below for child in children(pid) for below in tree(child))]
    return []


def kill_sshd(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        if Path(f"/proc/{pid}/comm").read_text() == "sshd\n":
            os.kill(pid, signal.SIGKILL)


class Sshd:
    def __init__(self, folder, path=os.environ["PATH"], address="127.0.0.1", prefix=()):
        self.folder, self.address, self.prefix = Path(folder), address, prefix
        self.port = free_port() if not prefix else 2222
        self.process = None
        self.log = self.folder / "sshd.log"
        for name, text in (("sshd_config", SERVER), ("ssh_config", CLIENT)):
            (self.folder / name).write_text(text.format(folder=folder, port=self.port,
                                                        address=address, path=path))
        script = self.folder / "bin/ssh"
        script.parent.mkdir()
        script.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/ssh_config "$@"\n')
        script.chmod(0o755)
        self.env = {"PATH": f"{script.parent}:{os.environ['PATH']}"}
        self.folder.chmod(0o755)
        self.make_key("client_key")
        self.new_host_key()
        self.trust()

    def make_key(self, name):
        (self.folder / name).unlink(missing_ok=True)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name))

    def new_host_key(self):
        self.make_key("host_key")

    def trust(self):
        """Write the host key to the client's known_hosts."""
        key = (self.folder / "host_key.pub").read_text()
        (self.folder / "known_hosts").write_text(f"[{self.address}]:{self.port} {key}")

    def start(self):
        os.makedirs("/run/sshd", exist_ok=True)
        self.process = subprocess.Popen(
            [*self.prefix, "/usr/sbin/sshd", "-D", "-f", self.folder / "sshd_config", "-E",
             self.log], stdin=subprocess.DEVNULL)
        wait_for(self.listens, "sshd listens")
        return self

    def listens(self):
        assert self.process.poll() is None, self.log.read_text()
        return self.count("Server listening") > self.ends

    ends = 0

    def count(self, words):
        return self.log.read_text().count(words) if self.log.exists() else 0

    def kill(self):
        """Kill sshd and all its connections; the programs that it has started keep running."""
        if self.process:
            self.process.send_signal(signal.SIGSTOP)  # so that it forks no more
            for pid in tree(self.process.pid):
                kill_sshd(pid)
            self.process.wait()
            self.process = None
            self.ends = self.count("Server listening")
