# SPDX-License-Identifier: MPL-2.0
"""A daemon that is killed at one point of a call, then started again and called again. The result
must be that of a call without a crash."""
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

# A Case has the steps before the call; the call; its operations in order, including those of the
# trash's reaper that it causes; and the datasets and snapshots at the end, with guids masked.
Case = namedtuple("Case", "before call operations names node_args", defaults=[()])
Run = namedtuple("Run", "points answer state")


# Operations that leave no change on the host if the daemon is killed after them.
LOOKS = ("zfs get", "open_tree", "fsopen")


def points_of(cases):
    """Return (call, number) of the points that leave different states: before the first operation
    and after each operation that changes something. Nothing changes between two operations."""
    return [(call, number) for call, case in cases.items() if case.operations
            for number in (0, *(2 * index + 1 for index, operation in enumerate(case.operations)
                                if operation not in LOOKS))]


def mask_answer(volume, answer):
    return mask(re.sub(r"(seconds|nanos): \d+", r"\1: TIME", str(answer)), volume.host.parent)


def dies(volume, case, points, number):
    """Make the call, kill the daemon at one of its points meanwhile, and return that point. The
    call succeeds if the daemon has answered before that."""
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


def has_looked_for_earlier_work(host):
    """True once zcsi-node has ended the zfs that look, after its start, for work that an earlier
    one has left. Before that it reports no volume as missing."""
    return host.agent.GetDataset.future(id="nothing").code() == CODE.NOT_FOUND


class Trial:
    """Runs of calls, each on a new host. new_host(case, env) is a context that starts a host, with
    `env` for the daemon; state(host) returns everything that a call may change on that host."""

    def __init__(self, cases, shim, new_host, state=state):
        self.cases, self.shim, self.new_host, self.state = cases, shim, new_host, state
        self.learned = {}

    @contextlib.contextmanager
    def scene(self, case):
        """A context with the volume `data` after the steps before the call, and the points."""
        with contextlib.closing(Points(self.shim)) as points, \
                self.new_host(case, points.env) as host:
            wait_for(lambda: has_looked_for_earlier_work(host), "no volume is left unknown")
            volume = Volume(host, "data")
            volume.staging, volume.target = f"{host.folder}/staging", f"{host.folder}/target"
            for step in case.before:
                step(volume)
            yield volume, points

    def undisturbed(self, call):
        """Return the Run of the call without a crash. The call is made only the first time."""
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
        """Crash at one point, repeat the call, compare the end, and return the point."""
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
        """Return the state once it is the expected one, or the last state after 10 seconds."""
        seen = []

        def is_expected():
            seen[:] = self.state(host)
            return seen == expected
        with contextlib.suppress(AssertionError):
            wait_for(is_expected, "the same end", 10)
        return seen
