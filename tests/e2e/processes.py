# SPDX-License-Identifier: MPL-2.0
"""Which processes a daemon has run, by its own log; and what the kernel says of one."""
from pathlib import Path

READS_NAMES = "zfs get -Hp -o name,"


def of_calls(log):
    """The processes without those that read again, a second later, what was changed."""
    announced = 0
    for line in log:
        if line["msg"] == "what was changed is read again":
            announced += 1
        elif line["msg"] == "exec" and announced and line["argv"].startswith(READS_NAMES):
            announced -= 1
        elif line["msg"] == "exec":
            yield line["argv"]


def during(daemon, step):
    """The processes that the daemon ran for one step."""
    before = len(list(of_calls(daemon.log())))
    step()
    return list(of_calls(daemon.log()))[before:]


def verbs(argvs):
    """The first two words of each, such as zfs get."""
    return [" ".join(argv.split()[:2]) for argv in argvs]


def status(pid, proc="/proc"):
    """/proc/PID/status as a dict."""
    lines = Path(proc, str(pid), "status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines)


def capabilities(pid):
    """Its sets: name -> number."""
    return {name: int(value, 16) for name, value in status(pid).items() if name.startswith("Cap")}


def children(pid):
    return [int(child) for task in Path(f"/proc/{pid}/task").glob("*/children")
            for child in task.read_text().split()]
