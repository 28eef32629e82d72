# SPDX-License-Identifier: MPL-2.0
"""The search finds each planted error. With pytest's option -s the shortest trace is printed."""
import pytest

import model
from planted import PLANTED
from search import search, text_of


@pytest.mark.parametrize("error", PLANTED)
def test_a_planted_error_is_found(error, monkeypatch):
    planted = PLANTED[error]
    for name, guard in planted.guards.items():
        monkeypatch.setitem(model.GUARDS, name, guard)
    for step, effect in planted.effects.items():
        monkeypatch.setitem(model.EFFECTS, step, effect)
    found = search(planted.bounds, planted.table, (planted.broken,))
    assert found.broken == planted.broken
    print(f"{error}\n{text_of(planted.bounds, found)}")
