# SPDX-License-Identifier: MPL-2.0
"""The search finds each planted error, and each known gap of the code. With pytest's option -s the
shortest trace is printed."""
import pytest

import model
from planted import GAPS, PLANTED
from search import search, text_of


def find(planted, monkeypatch):
    for name, guard in planted.guards.items():
        monkeypatch.setitem(model.GUARDS, name, guard)
    for step, effect in planted.effects.items():
        monkeypatch.setitem(model.EFFECTS, step, effect)
    monkeypatch.setattr(model, "ABOVE", planted.above)
    return search(planted.bounds, planted.table, (planted.broken,))


@pytest.mark.parametrize("error", PLANTED)
def test_a_planted_error_is_found(error, monkeypatch):
    found = find(PLANTED[error], monkeypatch)
    assert found.broken == PLANTED[error].broken
    print(f"{error}\n{text_of(PLANTED[error].bounds, found)}")


@pytest.mark.parametrize("gap", GAPS)
def test_a_gap_is_still_there(gap, monkeypatch):
    found = find(GAPS[gap], monkeypatch)
    assert found.broken == GAPS[gap].broken
    print(f"{gap}\n{text_of(GAPS[gap].bounds, found)}")
