# SPDX-License-Identifier: MPL-2.0
"""The search for a way home: when nothing fails any more, the steps of the table have to lead from
each world to one primary that serves, with all other nodes as its replicas."""
import model
from search import Step, by_state, steps_of
from table import TABLE
from world import state_of, PRIMARY, REPLICA

# The steps that a way home may have, in the order in which the search tries them. No way needs
# `stage` or `final`.
ORDER = ("boot", "unmount", "supersede", "accept", "promote after loss", "own again", "ask",
         "set epoch", "promote", "step down", "put aside", "clone base", "take in", "receive ends",
         "receive", "confirm", "cancel", "take back", "a person states the loss of no node")


def is_home(world):
    owners = [node for node in world.nodes if state_of(node) == PRIMARY]
    return len(owners) == 1 and owners[0].confirmed and all(
        node.up and (node is owners[0] or state_of(node) == REPLICA and not node.partial
                     and (node.data, node.epoch) == (owners[0].data, owners[0].epoch))
        for node in world.nodes)


def calm_steps(world, rows, bounds):
    """Return the steps without accidents, in the order in which to try them."""
    found = [step for step in steps_of(world, rows, bounds) if step.name in ORDER]
    for events in (model.workload, model.boots, model.failovers):
        found += [Step(words, me, None, "", after) for words, me, after in events(world, bounds)
                  if words in ORDER]
    return sorted(found, key=lambda step: ORDER.index(step.name))


def dead_ends(worlds, bounds, table=TABLE, person=True):
    """Yield each world from which no way leads home. Failovers that were begun are dropped, as if
    their commands had been killed; if `person`, a new one may be begun, which states no loss."""
    rows = by_state(table)
    bounds = bounds._replace(writes=0, number=bounds.number + 3, lost=0,
                             statements=2 if person else 0)
    good = set()
    for begin in dict.fromkeys(world._replace(statements=()) for world in worlds):
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
