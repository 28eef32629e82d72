# SPDX-License-Identifier: MPL-2.0
"""Planted errors: variants of the table, of its guards or of its effects, and the invariant that
each breaks. A search that does not find them proves nothing."""
from typing import NamedTuple

import model
from searched import LOSS, LOST_HOST
from table import COPIES, DEMOTED, MOVING, TABLE, without
from world import Bounds, seen

MOVE = Bounds(number=2)
NEW_MEMBER = LOST_HOST._replace(copies=1)
AFTER_LOSS = Bounds(number=3, statements=1, writes=0)
TWO_PERSONS = Bounds(number=2, statements=2, writes=0)


class Error(NamedTuple):
    broken: int         # the number of the invariant that breaks
    bounds: Bounds
    table: tuple = TABLE
    guards: dict = {}
    effects: dict = {}


def changed(step, **fields):
    return tuple(row._replace(**fields) if row.step == step else row for row in TABLE)


def number_of(world, me, asked):
    return (asked.epoch if asked else world.nodes[me].proof[0])[0]


def believe(world, me, peer):
    """Take back a promise without asking the target, to which it was made."""
    moving = world.nodes[me].moving
    return world.put(me, proof=((moving.number + 1, me), moving.data))


def clone_with_old_epoch(world, me, peer):
    after = model.clone_base(world, me, peer)
    return after and after.put(me, epoch=world.nodes[me].epoch)


def accept_late(world, me, statement):
    """Accept a failover, but let a stream of the old owner go on."""
    after = model.accept(world, me, statement)
    return after and after.put(me, partial=world.nodes[me].partial)


# A guard that ignores promises, as if only zcsi:epoch and zcsi:superseded recorded epochs.
FORGOTTEN_PROMISE = {
    "epoch recorded": lambda w, me, statement:
        seen(w.nodes[me]) == (statement.epoch if statement else w.nodes[me].proof[0])}
# Guards that refuse only a lower epoch, and so accept an equal one a second time.
EQUAL_EPOCHS = {
    "epoch free": lambda w, me, asked: isinstance(asked, int)
    or number_of(w, me, asked) >= seen(w.nodes[me])[0],
    "epoch recorded": lambda w, me, asked: number_of(w, me, asked) == seen(w.nodes[me])[0]}
# Guards by which a recorded epoch supersedes a primary whose epoch has the same number, if the
# recorded epoch's node is the higher one.
RECORD_SUPERSEDES = {
    "higher epoch": lambda w, me, peer: seen(w.nodes[peer]) > w.nodes[me].epoch,
    "epoch free": lambda w, me, asked: model.is_free(w, me, asked) or
    not isinstance(asked, int) and asked and seen(w.nodes[me]) == asked.epoch}

PLANTED = {
    "the target is promoted first": Error(1, MOVE, without("ask", "demoted")),
    "a host that boots is confirmed": Error(3, LOST_HOST, without("stage", "confirmed")),
    "no proof that the volume is unused": Error(5, MOVE, without("demote", "unused")),
    "written is not checked": Error(5, MOVE, without("demote", "unwritten")),
    "nothing compares the guids": Error(
        5, MOVE, without("promote", "same guid", table=without(
            "set epoch", "same guid", table=without("demote", "sent")))),
    "equal epochs are accepted": Error(1, TWO_PERSONS, guards=EQUAL_EPOCHS),
    "the old owner is not asked": Error(
        4, MOVE, without("ask", "demoted", "promised", "promise stands")),
    "renamed before the epoch is set": Error(1, MOVE, without("promote", "epoch recorded")),
    "cancelled after the demotion": Error(
        1, MOVE, changed("cancel", state=(MOVING, DEMOTED))),
    "taken back without asking": Error(
        1, Bounds(), without("take back", "not primary", "no failover", "epoch free"),
        effects={"take back": believe}),
    "a target that is primary gives back": Error(1, Bounds(), without("take back", "not primary")),
    "a survivor has not accepted": Error(9, LOSS, without("promote after loss", "all accepted")),
    "a promise is no record": Error(
        1, AFTER_LOSS, changed("promote after loss", state=COPIES), guards=FORGOTTEN_PROMISE),
    "a record supersedes a primary of its number": Error(1, LOSS, guards=RECORD_SUPERSEDES),
    "a base is cloned with the old epoch": Error(
        9, LOSS, effects={"clone base": clone_with_old_epoch}),
    "a stream goes on after Accept": Error(2, LOSS, effects={"accept": accept_late}),
    "a higher epoch does not matter at the start": Error(
        3, LOST_HOST, without("confirm", "no higher epoch")),
    "a node without a copy confirms": Error(3, NEW_MEMBER, without("confirm", "has a copy")),
    "an unconfirmed owner pushes": Error(3, NEW_MEMBER, without("receive", "owner confirmed")),
    "a stream of an old epoch": Error(2, LOSS, without("receive", "epoch not lower")),
    "a lost owner returns by receive -F": Error(
        7, LOSS, without("receive", "base", table=without("step down", "nothing of its own"))),
    "the candidate is not compared": Error(6, LOSS, without("promote after loss", "newest")),
}
