# SPDX-License-Identifier: MPL-2.0
"""Run a part of the tests. SLICE=K/N runs the K-th of N parts of all tests, counted from 0.
MATRIX=K/N runs the K-th of N parts of the tests that are marked as `matrix`, and all tests without
that mark. CI has no time for an exhaustive matrix and runs another part for each commit. Without
SLICE and MATRIX all tests run."""
import os
import zlib

import pytest


def slice_of(text):
    """Return the numbers K and N of the text "K/N"."""
    number, _, count = text.partition("/")
    if not (number.isdigit() and count.isdigit() and int(number) < int(count)):
        raise pytest.UsageError(f"a part is '{text}'; give K/N, such as 0/4, with K below N")
    return int(number), int(count)


def is_chosen(item, variable):
    """True if the test is in the part that the variable names, or the variable is not set. A test's
    part depends on its name alone, so a new test moves no other test to another part."""
    if not os.environ.get(variable):
        return True
    number, count = slice_of(os.environ[variable])
    return zlib.crc32(item.nodeid.encode()) % count == number


def pytest_configure(config):
    text = "matrix: a test of an exhaustive matrix, of which MATRIX=K/N runs a part"
    config.addinivalue_line("markers", text)


def pytest_terminal_summary(terminalreporter):
    for name in "SLICE", "MATRIX":
        part = os.environ.get(name)
        if part:
            terminalreporter.line(f"part {name}={part}, which repeats it; {name}= runs all tests")


def is_run(item):
    return is_chosen(item, "SLICE") and (
        not item.get_closest_marker("matrix") or is_chosen(item, "MATRIX"))


def pytest_collection_modifyitems(config, items):
    config.hook.pytest_deselected(items=[item for item in items if not is_run(item)])
    items[:] = filter(is_run, items)
