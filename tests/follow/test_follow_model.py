# SPDX-License-Identifier: MPL-2.0
"""A volume moves among the nodes with its copies: no invariant breaks, in whichever order the steps
of the table come, and whatever is lost, repeated, late or killed meanwhile."""
import pytest

import model
import table as tables
from search import text_of
from searched import ALL_BOUNDS, TAKEN, id_of, searched


@pytest.mark.parametrize("bounds", ALL_BOUNDS, ids=id_of)
def test_no_invariant_breaks(bounds):
    found = searched(bounds)
    assert not found.broken, text_of(bounds, found)


def test_each_step_is_taken_and_leads_where_the_table_says():
    rows = {row.step: row for row in tables.TABLE}
    taken = set().union(*(TAKEN.get(bounds) or searched(bounds).taken for bounds in ALL_BOUNDS))
    for step, before, after in taken:
        assert before in rows[step].state and after in rows[step].after, (step, before, after)
    assert {step for step, _, _ in taken} == set(rows)


def test_each_guard_is_a_sentence_and_each_step_has_an_effect():
    assert set(tables.GUARDS) == set(model.GUARDS) == {
        guard for row in tables.TABLE for guard in row.guards}
    assert set(model.EFFECTS) == {row.step for row in tables.TABLE}
