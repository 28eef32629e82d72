# SPDX-License-Identifier: MPL-2.0
"""The test's side of shim.c: the points that a daemon has passed, and the one to kill it at."""
import os
import re
import subprocess
import tempfile
from collections import namedtuple
from pathlib import Path

Point = namedtuple("Point", "operation when detail")
# Imported functions that change anything, which the shim has to wrap.
CHANGES = re.compile(r"u?mount|open_tree|move_mount|fsopen|pivot_root|mk(dir|nod|fifo)|rmdir"
                     r"|remove$|rename|(sym|un)?link|[fl]?chown|f?chmod|[lf]?setxattr"
                     r"|posix_spawnp?$|v?fork|exec")
SHIM = Path(__file__).with_name("shim.c")


def build_shim(folder):
    shim = Path(folder, "shim.so")
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra",
                    "-Werror", "-O1", "-shared", "-fPIC", "-o", shim, SHIM], check=True)
    return shim


def symbols(path, kind):
    listed = subprocess.run(["nm", "-D", kind, path], check=True, capture_output=True, text=True)
    return {line.split()[-1].split("@")[0] for line in listed.stdout.splitlines()}


def unknown_to(shim, program):
    """Return the functions that change anything, used by the program but not wrapped by the
    shim."""
    changing = {name for name in symbols(program, "--undefined-only") if CHANGES.match(name)}
    return changing - symbols(shim, "--defined-only")


class Points:
    """The points of one daemon; forget() starts again for its next process."""

    def __init__(self, shim):
        self.temporary = tempfile.TemporaryDirectory(prefix="zcsi-points-")
        self.folder = Path(self.temporary.name)
        sanitizer = os.environ.get("ASAN_OPTIONS", "")
        self.env = {"LD_PRELOAD": str(shim), "CRASH_POINTS": str(self.folder),
                    # A build with ASan insists on being preloaded first, unless told not to check.
                    "ASAN_OPTIONS": f"{sanitizer}:verify_asan_link_order=0"}

    def passed(self):
        text = (self.folder / "points").read_text() if (self.folder / "points").exists() else ""
        return [Point(*line.split("\t")[1:]) for line in text.split("\n")[:-1]]

    def kill_at(self, number):
        """Kill the daemon at the point with this number, counted from 0 at the next point."""
        (self.folder / "new").write_text(str(len(self.passed()) + number + 1))
        (self.folder / "new").rename(self.folder / "kill")

    def forget(self):
        for path in self.folder.iterdir():
            path.unlink()

    def close(self):
        self.temporary.cleanup()
