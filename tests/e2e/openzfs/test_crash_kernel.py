# SPDX-License-Identifier: MPL-2.0
"""Crash points, as in test_crash_points.py, of calls that need the kernel's ZFS."""
import pytest

from crash.kernel_cases import KERNEL_CASES
from crash.trial import points_of


@pytest.fixture(scope="module")
def trial(new_trial):
    return new_trial(KERNEL_CASES)


@pytest.mark.parametrize("call", KERNEL_CASES)
def test_the_points_are_those_of_the_table(trial, call):
    trial.check_points(call)


@pytest.mark.parametrize("call, number", points_of(KERNEL_CASES))
def test_a_crash_and_a_repeat_end_as_undisturbed(trial, call, number):
    trial.check_crash(call, number)
