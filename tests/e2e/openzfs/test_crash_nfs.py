# SPDX-License-Identifier: MPL-2.0
"""Crash points, as in test_crash_points.py, of calls that export a volume to another node."""
import contextlib

import pytest

from client import topology
from crash.cases import MAKE, STAGE
from crash.state import mask, state
from crash.trial import Case, points_of, Trial
from daemon import wait_for
from host import tree


def create(volume):
    """Create a volume and wait until the agent has read it back. The agent restores exports after
    such a read, and at this time there is none to restore."""
    volume.create(parameters={"attach": "nfs"}, accessibility_requirements=topology("n1"))
    wait_for(lambda: volume.record().guid, "the volume is read")


def attach(volume):
    return volume.host.controller.ControllerPublishVolume(
        volume_id=volume.id, node_id="n2", volume_capability=volume.capability)


def detach(volume):
    return volume.host.controller.ControllerUnpublishVolume(volume_id=volume.id, node_id="n2")


SHARE = [*["mkdir"] * 4, *MAKE, *STAGE]
CASES = {
    "attach by NFS": Case([create], attach,
                          ["zfs set", *SHARE, "mkdir", "rename", "exportfs -o"], ["data"],
                          ["--rescan", "3600"]),
    "detach by NFS": Case([create, attach], detach,
                          ["zfs set", "unlink", "exportfs -u", "umount2", "unlink", "rmdir"],
                          ["data"], ["--rescan", "3600"]),
}


def state_with_exports(host):
    exports = [f"{path} to {client} {access}"
               for (path, client), access in host.server.exports().items()]
    folder = host.server.file("/run/zcsi-nfs")
    lines = [*exports, host.server.recorded(), *(path[len(str(folder)):] for path in tree(folder))]
    return state(host) + sorted(mask(line, host.parent) for line in lines)


@pytest.fixture(scope="module")
def trial(new_member, server, shim):
    with new_member(2) as two:
        two.start_node()

        @contextlib.contextmanager
        def new_host(case, env):
            with contextlib.ExitStack() as stack:
                one = stack.enter_context(new_member(1, case.node_args, env=env,
                                                     agents=[f"unix://{two.agent_socket}"]))
                one.server = server.start()
                stack.callback(server.clear)
                yield one.start()
        yield Trial(CASES, shim, new_host, state_with_exports)


@pytest.mark.parametrize("call", CASES)
def test_the_points_are_those_of_the_table(trial, call):
    trial.check_points(call)


@pytest.mark.parametrize("call, number", points_of(CASES))
def test_a_crash_and_a_repeat_end_as_undisturbed(trial, call, number):
    trial.check_crash(call, number)
