# SPDX-License-Identifier: MPL-2.0
"""The processes that a daemon has run, from its log, and the state of a process from /proc."""
import contextlib
from pathlib import Path

READS_NAMES = "zfs get -Hp -o name,"


def of_calls(log):
    """Yield the argv texts of the log that belong to calls: without the scans that re-read changed
    datasets a second later, and without a repeat of the previous command, which zcsi runs while
    zfs-fuse reports a dataset as busy."""
    announced, last = 0, None
    for line in log:
        if line["msg"] == "stale names are reread":
            announced += 1
        elif line["msg"] != "program was run":
            continue
        elif announced and line["argv"].startswith(READS_NAMES):
            announced -= 1
        else:
            if not (last and last.get("status") and last["argv"] == line["argv"]):
                yield line["argv"]
            last = line


def during(daemon, step):
    """Run step() and return the argv texts of the processes that the daemon ran for it."""
    before = len(list(of_calls(daemon.log())))
    step()
    return list(of_calls(daemon.log()))[before:]


def verbs(argvs):
    """Return the first two words of each argv text, such as zfs get."""
    return [" ".join(argv.split()[:2]) for argv in argvs]


def status(pid, proc="/proc"):
    """Return /proc/PID/status as a dict."""
    lines = Path(proc, str(pid), "status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines)


def capabilities(pid):
    """Return the capability sets of a process, each as a number."""
    return {name: int(value, 16) for name, value in status(pid).items() if name.startswith("Cap")}


def children(pid):
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            found += map(int, task.read_text().split())
    return found


def of_program(program):
    """Return the ids of the processes of a program, by the first word of their command lines. A
    process that one of them has started has the same command line until it runs its own program,
    and is left out."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the process has ended
            words = (folder / "cmdline").read_text(errors="replace").split("\0", 1)
            if words[0] == program:
                parents[int(folder.name)] = int(status(folder.name)["PPid"])
    return [pid for pid, parent in parents.items() if parent not in parents]
