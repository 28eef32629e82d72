# SPDX-License-Identifier: MPL-2.0
"""A few random histories (history.py). `make history HISTORIES=20 SEED=1000` runs others."""
import os

import pytest

from history import History

FIRST = int(os.environ.get("SEED") or 1)
COUNT = int(os.environ.get("HISTORIES") or 2)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_no_record_is_lost_and_no_two_nodes_write(trio, seed):
    History(trio, seed).run()
