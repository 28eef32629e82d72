# SPDX-License-Identifier: MPL-2.0
"""New hosts on a bridge, made by tests/nomad/fresh, and a shell on each. A host ends with its
first process, and all that runs on it, its mounts and its files with it."""
import os
import subprocess
from pathlib import Path

from client import PATIENCE, ROOT
from daemon import BUILD, wait_for
from host import run
from nomad import PROGRAM
from processes import children

NETWORK = "10.0.0"
BRIDGE = "zcsi0"
CSC = BUILD / "conformance/csc"
NAMES = ("node-1", "node-2", "node-3")
# Variables of a shell that root has just begun, instead of those of the test.
CLEAN = ("env", "-i", "-C", ROOT, "HOME=/root", "TERM=dumb", "LANG=C.UTF-8",
         "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")


class Network:
    def __init__(self):
        run("ip", "link", "add", BRIDGE, "type", "bridge")
        run("ip", "address", "add", f"{NETWORK}.1/24", "dev", BRIDGE)
        run("ip", "link", "set", BRIDGE, "up")

    @staticmethod
    def close():
        run("ip", "link", "delete", BRIDGE)


class Shell:
    """A shell in the root of the tree. Its folder and its variables stay from one command to the
    next. `seen` is a file for the output of a command."""

    def __init__(self, prefix, seen):
        self.seen = seen
        self.process = subprocess.Popen([*prefix, "bash"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def type(self, text):
        """Type a command. Returns its exit status and its output."""
        self.process.stdin.write(f"{{ {text}\n}} </dev/null >{self.seen} 2>&1\necho $?\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline()), self.seen.read_text()


class FreshHost:
    """`folder` has the ssh key that all hosts know, and gets the disks of the host."""

    def __init__(self, number, folder):
        self.name = NAMES[number]
        self.address = f"{NETWORK}.{11 + number}"
        self.folder = Path(folder, self.name)
        self.folder.mkdir()
        for name in ("key", "key.pub"):
            run("cp", "-p", Path(folder, name), self.folder)
        (self.folder / "hosts").write_text("".join(
            f"{NETWORK}.{11 + each} {name}\n" for each, name in enumerate(NAMES)))
        self.inside = []
        self.log = open(BUILD / f"nomad/{self.name}.log", "wb")
        self.process = subprocess.Popen(
            [ROOT / "tests/nomad/fresh", self.name, self.address, BRIDGE, self.folder],
            env={**os.environ, "NOMAD": str(PROGRAM), "CSC": str(CSC)},
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def booted(self):
        def ready():
            assert self.process.poll() is None, f"see {self.log.name}"
            return (self.folder / "ready").exists()
        wait_for(ready, f"{self.name} has started", 60)
        [pid] = children(self.process.pid)
        self.prefix = ["nsenter", f"--target={pid}", "--net", "--uts", "--mount", "--pid",
                       *CLEAN]
        self.shell = Shell(self.prefix, self.folder / "seen")
        self.inside.append(self.shell.process)

    def write(self, path, text):
        folder = Path(path).parent
        subprocess.run([*self.prefix, "bash", "-c", f"mkdir -p {folder} && cat >{path}"],
                       input=text, text=True, check=True)

    def start(self, text):
        """Type a command in a shell of its own, where it runs until the host ends."""
        self.inside.append(subprocess.Popen(
            [*self.prefix, "bash", "-c", text],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log))

    def close(self):
        self.process.kill()
        self.process.wait()
        for process in self.inside:
            process.wait()
        run("ip", "netns", "delete", self.name)
        self.log.close()
