# SPDX-License-Identifier: MPL-2.0
"""kill -9 before and after each operation (a child process or a system call) of every call that
changes anything; restart and repeat the call: the result is that without a crash."""
import pytest

from crash.cases import CASES
from crash.points import unknown_to
from crash.trial import points_of
from daemon import BUILD


@pytest.fixture(scope="module")
def trial(new_trial):
    return new_trial(CASES)


@pytest.fixture(scope="module")
def tried(request):
    """A list of the points at which a daemon was killed; their number is printed at the end."""
    points = []
    yield points
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f" {len(points)} crash points of {len(CASES)} calls", end=" ")


def test_the_shim_wraps_every_function_that_changes_anything(shim):
    assert unknown_to(shim, BUILD / "zcsi-node") == set()


@pytest.mark.parametrize("call", CASES)
def test_the_points_are_those_of_the_table(trial, call):
    trial.check_points(call)


@pytest.mark.matrix
@pytest.mark.parametrize("call, number", points_of(CASES))
def test_a_crash_and_a_repeat_end_as_undisturbed(trial, tried, call, number):
    tried.append(trial.check_crash(call, number))
