# SPDX-License-Identifier: MPL-2.0
"""SLICE=K/N runs one of N parts of the collected tests, the K-th: CI has no time for an exhaustive
matrix and runs another part for each commit. Without SLICE all tests run."""
import os
import zlib

import pytest


def slice_of(text):
    """Return the numbers K and N of the text "K/N"."""
    number, _, count = text.partition("/")
    if not (number.isdigit() and count.isdigit() and int(number) < int(count)):
        raise pytest.UsageError(f"SLICE is '{text}'; give K/N, such as 0/4, with K below N")
    return int(number), int(count)


def pytest_terminal_summary(terminalreporter):
    chosen = os.environ.get("SLICE")
    if chosen:
        terminalreporter.line(f"slice {chosen}; SLICE={chosen} repeats it, SLICE= runs all tests")


def pytest_collection_modifyitems(config, items):
    """Deselect the tests of other slices. A test's slice depends on its name alone, so adding a
    test moves no other test to another slice."""
    if not os.environ.get("SLICE"):
        return
    number, count = slice_of(os.environ["SLICE"])
    chosen = [item for item in items if zlib.crc32(item.nodeid.encode()) % count == number]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen
