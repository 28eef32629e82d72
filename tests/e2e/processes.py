# SPDX-License-Identifier: MPL-2.0
"""Which processes a daemon has run, by its own log."""

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
