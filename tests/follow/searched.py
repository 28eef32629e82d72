# SPDX-License-Identifier: MPL-2.0
"""The bounds of the searches, and the results of searches, which several tests use. FOLLOW=larger
makes the bounds larger."""
import functools
import os

from search import search
from world import Bounds

LOSS = Bounds(number=2, statements=1)
LOST_HOST = Bounds(number=2, statements=1, powers=1, writes=0)
BOUNDS = (
    Bounds(number=3),
    Bounds(number=2, powers=1),
    LOSS,
    LOST_HOST,
    LOST_HOST._replace(copies=1),
    Bounds(number=3, statements=1, writes=0),
)
LARGER = (
    Bounds(number=3, writes=2, powers=1),
    Bounds(number=4),
    Bounds(number=2, statements=1, powers=1),
    Bounds(number=2, statements=1, powers=1, copies=1),
    Bounds(number=2, statements=1, writes=2),
    Bounds(number=2, statements=1, lost=2),
    Bounds(number=3, statements=1, powers=1, writes=0),
    Bounds(number=3, statements=1),
    Bounds(number=3, statements=2, writes=0),
)
IS_LARGER = os.environ.get("FOLLOW") == "larger"
ALL_BOUNDS = LARGER if IS_LARGER else BOUNDS
TAKEN = {}  # bounds -> Found.taken of their search


def id_of(bounds):
    return " ".join(f"{name}={value}" for name, value in bounds._asdict().items())


@functools.lru_cache(maxsize=1 if IS_LARGER else None)
def searched(bounds):
    found = search(bounds)
    TAKEN[bounds] = found.taken
    return found
