# SPDX-License-Identifier: MPL-2.0
"""No world is a dead end: when nothing fails any more, retries and a person lead out of it."""
import pytest

from home import dead_ends
from searched import LOSS, LOST_HOST, MOVE, MOVE_AND_LOSS, id_of, searched
from table import TABLE


@pytest.mark.parametrize("bounds", [LOSS, LOST_HOST, MOVE_AND_LOSS], ids=id_of)
def test_a_way_leads_home_from_each_world(bounds):
    assert not next(dead_ends(searched(bounds).worlds, bounds), None)


def test_without_a_failover_a_way_home_needs_no_person():
    assert not next(dead_ends(searched(MOVE).worlds, MOVE, person=False), None)


@pytest.mark.parametrize("bounds, step", [
    (LOSS, "put aside"), (LOSS, "step down"), (LOSS, "count again"), (LOST_HOST, "confirm"),
    (MOVE, "open"), (MOVE, "show")])
def test_without_a_step_there_is_a_dead_end(bounds, step):
    table = tuple(row for row in TABLE if row.step != step)
    assert next(dead_ends(searched(bounds).worlds, bounds, table), None)
