# SPDX-License-Identifier: MPL-2.0
"""Planted errors: variants of the table, of its guards or of its effects, and the invariant that
each breaks. A search that does not find them proves nothing."""
from typing import NamedTuple

import model
from searched import LOSS, LOST_HOST, MOVE_AND_LOSS, TWO_LOSSES
from table import COPIES, TABLE, without
from world import Bounds

MOVE = Bounds(epoch=2, marks=1)


class Error(NamedTuple):
    broken: int         # the number of the invariant that breaks
    bounds: Bounds
    table: tuple = TABLE
    guards: dict = {}
    effects: dict = {}
    above: int = model.ABOVE


def changed(step, **fields):
    return tuple(row._replace(**fields) if row.step == step else row for row in TABLE)


def take_back(world, me, _):
    """Take a volume back that was given up, as if the move had been cancelled."""
    return world.put(me, place="primary", mark=None, confirmed=True)


def put_aside_with_old_epoch(world, me, peer):
    after = model.put_aside(world, me, peer)
    return after.put(me, epoch=world.nodes[me].epoch)


PLANTED = {
    "the target is promoted first": Error(4, MOVE, without("ask", "given up")),
    "a host that boots is confirmed": Error(3, LOST_HOST, without("stage", "confirmed")),
    "no proof that the volume is unused": Error(5, MOVE, without("give up", "unused")),
    "a volume is given up with its device": Error(
        5, MOVE._replace(zvol=1), without("give up", "not shown")),
    "written is not checked": Error(5, MOVE, without("give up", "ends", table=without(
        "ask", "unwritten"))),
    "nothing compares the guids": Error(4, MOVE, without("ask", "same data", table=without(
        "give up", "arrived"))),
    "the old owner is not asked": Error(4, MOVE, without("ask", "given up", "for us", "unwritten")),
    "given up for another node": Error(4, MOVE, without("ask", "for us")),
    "renamed before the epoch is set": Error(1, MOVE, without("promote", "recorded")),
    "taken back after the rename": Error(
        1, MOVE, changed("unmark copy", guards=()), effects={"unmark copy": take_back}),
    "the record is removed without a look": Error(
        9, MOVE_AND_LOSS, changed("unmark copy", state=COPIES)),
    "a failover is one epoch above": Error(1, MOVE_AND_LOSS, above=1),
    "a survivor has not accepted": Error(
        9, LOSS, guards={"all accepted": lambda w, me, _: model.fails_over(w.nodes[me])}),
    "the candidate is not compared": Error(6, LOSS, without("accept", "not newer")),
    "a stream goes on after Accept": Error(2, LOSS, without("accept", "unlocked")),
    "a stream of an old epoch": Error(2, LOSS, without("receive", "epoch not lower")),
    "a later owner does not matter at the start": Error(
        3, LOST_HOST, without("confirm", "no later owner")),
    "no majority at the start": Error(3, LOST_HOST, without("confirm", "majority")),
    "a host makes way before it has the epoch": Error(
        1, TWO_LOSSES, without("step down", "epoch taken")),
    "a host makes way before it counts": Error(
        3, TWO_LOSSES._replace(powers=1), without("step down", "counts there", table=without(
            "take the epoch", "counts there"))),
    "what is put aside has the old epoch": Error(
        9, LOSS, effects={"put aside": put_aside_with_old_epoch}),
    "what only one host has is destroyed": Error(
        7, LOSS, without("step down", "nothing of its own", table=without(
            "take the epoch", "nothing of its own"))),
}

# Errors that the code still has: the bounds of a search that finds each, and the invariant that
# breaks. Remove an error that was mended, and add its bounds to those of searched.py.
GAPS = {
    # The new member confirms the former owner, and the failover did not ask it, because the copy
    # that took over has not heard of it.
    "a new member of which the other copy does not know":
        Error(3, LOST_HOST._replace(copies=1, joins=1)),
}
