# SPDX-License-Identifier: MPL-2.0
"""The bounds of the searches, and the results of searches, which several tests use. FOLLOW=larger
makes the bounds larger."""
import functools
import os

import model
from search import search
from world import Bounds

MOVE = Bounds(epoch=2, marks=1, powers=1, zvol=1)
AFTER_LOSS = 1 + model.ABOVE    # the epoch after a failover
LOSS = Bounds(epoch=AFTER_LOSS, marks=0, statements=1)
LOST_HOST = LOSS._replace(powers=1, writes=0)
MOVE_AND_LOSS = LOSS._replace(marks=1, writes=0)
TWO_LOSSES = Bounds(epoch=1 + 2 * model.ABOVE, marks=0, statements=2, writes=0, copies=1)
BOUNDS = (
    MOVE,
    Bounds(epoch=2, marks=1, writes=0, copies=1, joins=1),
    LOSS,
    LOST_HOST,
    MOVE_AND_LOSS,
    LOSS._replace(powers=1, marks=1, copies=1),
    TWO_LOSSES._replace(powers=1),
    LOSS._replace(marks=2, lost=2, writes=0, kills=0),
)
LARGER = (
    Bounds(epoch=2, marks=2, writes=2, powers=1),
    Bounds(epoch=3, marks=2),
    LOSS._replace(marks=1),
    LOSS._replace(marks=2, writes=0),
    LOSS._replace(marks=1, writes=0, powers=1),
    LOSS._replace(marks=1, writes=0, lost=2),
    LOSS._replace(writes=2, powers=1),
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
