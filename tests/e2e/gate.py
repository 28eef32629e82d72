# SPDX-License-Identifier: MPL-2.0
"""A gate at which the calls of a program wait until the test lets them go."""
import fcntl
import os
import shutil
import signal
import stat
from pathlib import Path

from daemon import wait_for
from processes import status

GATE = """#!/bin/sh
# A call whose arguments contain the text of the file `match` waits for the lock of this folder,
# then becomes the real program.
case " $* " in
*"$(cat {folder}/match)"*) flock --shared {folder} true ;;
esac
exec {program} "$@"
"""


class Gate:
    """A script that precedes a program in PATH, so that a test can delay its calls."""

    def __init__(self, folder, name):
        self.folder = Path(folder)
        self.match("(none)")
        self.lock = os.open(folder, os.O_RDONLY)
        script = self.folder / name
        script.write_text(GATE.format(folder=folder, program=shutil.which(name)))
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        self.env = {"PATH": f"{folder}:{os.environ['PATH']}"}

    def match(self, text):
        (self.folder / "new").write_text(text)
        (self.folder / "new").rename(self.folder / "match")

    def hold(self, text):
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.match(text)

    def arrived(self, n=1):
        """Wait until n processes wait at the gate."""
        wait_for(lambda: sum(map(self.waits, open("/proc/locks"))) >= n, f"{n} processes at a gate")

    def waits(self, line):
        """Return whether this line of /proc/locks is a process that waits at the gate."""
        return "->" in line and f":{os.fstat(self.lock).st_ino} " in line

    def kill(self):
        """Kill the script that waits at the gate, and its flock(1) process, which waits for the
        lock."""
        [line] = [line for line in open("/proc/locks") if self.waits(line)]
        waiter = int(line.split()[5])
        os.kill(int(status(waiter)["PPid"]), signal.SIGKILL)
        os.kill(waiter, signal.SIGKILL)

    def open(self):
        """Release all waiting processes and delay no later ones."""
        fcntl.flock(self.lock, fcntl.LOCK_UN)
