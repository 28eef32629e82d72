# SPDX-License-Identifier: MPL-2.0
"""The search for a way home: when nothing fails any more, the steps of the table have to lead from
each world to one primary that serves, with all other members as its replicas."""
import events
import model
from search import Step, by_state, steps_of
from table import TABLE
from world import HIDDEN, PRIMARY, REPLICA, state_of

# The steps that a way home may have, in the order in which the search tries them. No way needs a
# new move.
ORDER = ("boot", "unmount", "learn", "unmark copy", "promote", "set epoch", "finish", "show",
         "open", "unmark", "supersede", "promote after loss", "accept own", "accept", "fail over",
         "step down", "take the epoch", "put aside", "split", "ask", "confirm", "bookmark",
         "count again", "receive ends", "receive", "the move is cancelled", "the stream is cut",
         "a person states the loss of")


def is_home(world):
    owners = [node for node in world.nodes if state_of(node) == PRIMARY]
    return len(owners) == 1 and owners[0].confirmed and not owners[0].lost and (
        owners[0].device != HIDDEN) and all(
        node.up and (node is owners[0] or state_of(node) == REPLICA and not node.partial
                     and (node.data, node.epoch) == (owners[0].data, owners[0].epoch))
        for me, node in enumerate(world.nodes) if me in owners[0].members or node.place)


def place_in_order(words):
    return next((at for at, name in enumerate(ORDER) if words == name
                 or name.startswith("a person") and words.startswith(name)), None)


def calm_steps(world, rows, bounds):
    """Return the steps without accidents, in the order in which to try them."""
    found = list(steps_of(world, rows, bounds))
    for source in (events.workload, events.boots, events.cuts, events.failovers):
        found += [Step(words, me, None, "", after) for words, me, after in source(world, bounds)
                  if source is not events.failovers or is_refused_by_none(after)]
    return sorted((step for step in found if place_in_order(step.name) is not None),
                  key=lambda step: place_in_order(step.name))


def is_refused_by_none(world):
    """Return False if a node that was just declared lost answers that it has the volume."""
    return not any(model.is_owner(world.nodes[node]) for node in world.statements[-1].lost)


def at_rest(world):
    """Return the world after the end of all calls: a failover that was begun is not repeated."""
    world = world._replace(statements=())
    for me, node in enumerate(world.nodes):
        if model.fails_over(node):
            world = world.put(me, take=None)
    return world


def dead_ends(worlds, bounds, table=TABLE, person=True):
    """Yield each world from which no way leads home. Failovers that were begun are dropped, as if
    their commands had been killed; if `person`, new ones may be begun."""
    rows = by_state(table)
    bounds = bounds._replace(writes=0, epoch=bounds.epoch + 2 * model.ABOVE + 1,
                             marks=bounds.marks + 1, lost=max(bounds.lost, 1),
                             statements=2 if person else 0)
    good = set()
    for begin in dict.fromkeys(at_rest(world) for world in worlds):
        way, tried = [(begin, None)], {begin}
        while way and way[-1][0] not in good and not is_home(way[-1][0]):
            here, left = way[-1]
            if left is None:
                left = iter(calm_steps(here, rows, bounds))
                way[-1] = (here, left)
            after = next((step.after for step in left if step.after not in tried), None)
            if after is None:
                way.pop()
            else:
                tried.add(after)
                way.append((after, None))
        good.update(here for here, _ in way)
        if not way:
            yield begin
