# SPDX-License-Identifier: MPL-2.0
"""A daemon that dies at one point of a call, is started again and asked the same: the end is that
of a call in which nobody died."""
import contextlib
import re
import signal
from collections import namedtuple

import grpc

from crash.points import Points
from crash.state import mask, names, state, zfs_runs_on
from daemon import wait_for
from host import Volume

CODE = grpc.StatusCode

# What came before the call; the call; its operations in order, with those of the reaper that it
# leads to; and what is there at the end. A guid in a name is masked.
Case = namedtuple("Case", "before call operations names node_args", defaults=[()])
Run = namedtuple("Run", "points answer state")


# Operations that leave nothing behind when the daemon is dead.
LOOKS = ("zfs get", "open_tree", "fsopen")


def points_of(cases):
    """(call, number) of the points that leave different things behind: before the first operation,
    and after each that is more than a look. From there to the next one nothing happens to the
    host."""
    return [(call, number) for call, case in cases.items() if case.operations
            for number in (0, *(2 * index + 1 for index, operation in enumerate(case.operations)
                                if operation not in LOOKS))]


def mask_answer(volume, answer):
    return mask(re.sub(r"(seconds|nanos): \d+", r"\1: TIME", str(answer)), volume.host.parent)


def dies(volume, case, points, number):
    """The call, and the death at one of its points: the answer may be out before."""
    points.kill_at(number)
    try:
        case.call(volume)
    except grpc.RpcError as error:
        assert error.code() == CODE.UNAVAILABLE, error.details()
    daemon = volume.host.node_daemon
    assert daemon.wait() == -signal.SIGKILL, daemon.text()[-2000:]
    return points.passed()[-1]


def reaches_its_agent(host):
    call = host.controller.ListVolumes.future()
    assert call.code() in (CODE.OK, CODE.UNAVAILABLE), call.details()
    return call.code() == CODE.OK


def restart(host, points):
    wait_for(lambda: not zfs_runs_on(host.parent), "the zfs of the dead daemon ends")
    points.forget()
    host.restart(host.node_daemon)
    wait_for(lambda: reaches_its_agent(host), "the controller reaches the agent again")


class Trial:
    """Of calls that begin on a host of their own: new_host(case, env) is a context that starts it,
    with that environment for the daemon; state(host) is all that a call may change there."""

    def __init__(self, cases, shim, new_host, state=state):
        self.cases, self.shim, self.new_host, self.state = cases, shim, new_host, state
        self.learned = {}

    @contextlib.contextmanager
    def scene(self, case):
        """A volume `data` where the call begins."""
        with contextlib.closing(Points(self.shim)) as points, \
                self.new_host(case, points.env) as host:
            volume = Volume(host, "data")
            volume.staging, volume.target = f"{host.folder}/staging", f"{host.folder}/target"
            for step in case.before:
                step(volume)
            yield volume, points

    def undisturbed(self, call):
        """What the call does when nobody dies; each is learned once."""
        if call not in self.learned:
            self.learned[call] = self.learn(self.cases[call])
        return self.learned[call]

    def learn(self, case):
        with self.scene(case) as (volume, points):
            before = len(points.passed())
            answer = case.call(volume)
            wait_for(lambda: names(volume.host.parent) == case.names
                     and len(points.passed()[before:]) % 2 == 0,
                     f"the names at the end are {case.names}")
            return Run(points.passed()[before:], mask_answer(volume, answer),
                       self.state(volume.host))

    def check_points(self, call):
        points = self.undisturbed(call).points
        seen = [point.operation for point in points if point.when == "before"]
        assert seen == self.cases[call].operations, \
            f"no crash of '{call}' is tested in each of {seen}, which the table does not have"
        assert len(points) == 2 * len(seen)

    def check_crash(self, call, number):
        """Returns the point."""
        case, expected = self.cases[call], self.undisturbed(call)
        with self.scene(case) as (volume, points):
            point = dies(volume, case, points, number)
            assert point[:2] == expected.points[number][:2], points.passed()
            restart(volume.host, points)
            assert mask_answer(volume, case.call(volume)) == expected.answer
            assert self.end(volume.host, expected.state) == expected.state, \
                f"died {point.when} {point.operation}"
        return point

    def end(self, host, expected):
        """The state when it is as expected, or when the time for that is over."""
        seen = []

        def is_expected():
            seen[:] = self.state(host)
            return seen == expected
        with contextlib.suppress(AssertionError):
            wait_for(is_expected, "the same end", 10)
        return seen
