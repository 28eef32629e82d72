# SPDX-License-Identifier: MPL-2.0
"""Breadth-first search of all worlds within bounds, so that no trace to an error is shorter than
the one found.

By hand: `python3 tests/follow/search.py writes=2 epoch=3 statements=1 "give up: unused"` prints
the number of worlds, or the trace to a broken invariant. The last words are a planted error: a
step, and the guards that it does not check."""
import sys
import time
from itertools import chain, combinations
from typing import NamedTuple

import events
import model
import table as tables
from invariants import INVARIANTS
from world import NODES, Bounds, World, named, node_text, start, state_of


class Step(NamedTuple):
    """A row of the table that a node took, or an event that zcsi does not decide."""
    name: str
    me: int
    asked: object
    command: str
    after: World


class Found(NamedTuple):
    worlds: dict        # world -> (world before, step that first led to it), or None for the start
    broken: int         # the number of the invariant that is broken, or 0
    trace: list         # the steps from the start to the broken invariant
    taken: set          # (step, state before, state afterwards) of each row that was taken


def by_state(table):
    """Return the rows of the table by state, with their functions."""
    rows = {}
    for row in table:
        for state in row.state:
            rows.setdefault(state, []).append(
                (row, [model.GUARDS[name] for name in row.guards], model.EFFECTS[row.step]))
    return rows


def steps_of(world, rows, bounds):
    """Yield each step of a row that can be taken."""
    peers = [[peer for peer in NODES if peer != me and world.nodes[peer].up] for me in NODES]
    for me, node in enumerate(world.nodes):
        for row, guards, effect in rows.get(state_of(node), ()) if node.up else ():
            for asked in choices(row, world, peers[me]):
                for guard in guards:
                    if not guard(world, me, asked):
                        break
                else:
                    after = effect(world, me, asked)
                    if after and after != world and is_within(after, bounds):
                        yield Step(row.step, me, asked, row.command, after)


def choices(row, world, peers):
    """Yield what the step may ask: any of the nodes may be silent."""
    if row.asked == "nodes":
        return chain.from_iterable(combinations(peers, n) for n in range(len(peers) + 1))
    return peers if row.asked == "node" else world.statements if row.asked else (None,)


def is_within(world, bounds):
    return all(node.epoch <= bounds.epoch and (not node.mark or node.mark.epoch <= bounds.epoch)
               and sum(part < 0 for part in node.data) <= bounds.marks
               and (bounds.joins or len(node.members) <= bounds.copies + 1)
               for node in world.nodes)


def all_steps(world, rows, bounds):
    yield from steps_of(world, rows, bounds)
    for source in (events.workload, events.boots, events.cuts, events.accidents, events.failovers):
        for words, me, after in source(world, bounds):
            yield Step(words, me, None, "", after)


def search(bounds, table=tables.TABLE, invariants=tuple(INVARIANTS)):
    """Search until one of the invariants breaks, or all worlds were seen."""
    rows, checks = by_state(table), [(number, INVARIANTS[number]) for number in invariants]
    begin = start(bounds)
    worlds, level, taken = {begin: None}, [begin], set()
    while level:
        deeper = []
        for world in level:
            for step in all_steps(world, rows, bounds):
                if step.command:
                    taken.add((step.name, state_of(world.nodes[step.me]),
                               state_of(step.after.nodes[step.me])))
                for number, holds in checks:
                    if not holds(world, step.name, step.me, step.asked, step.after):
                        return Found(worlds, number, [*trace(worlds, world), step], taken)
                if step.after not in worlds:
                    worlds[step.after] = (world, step)
                    deeper.append(step.after)
        level = deeper
    return Found(worlds, 0, [], taken)


def trace(worlds, world):
    steps = []
    while worlds[world]:
        world, step = worlds[world]
        steps.append(step)
    return steps[::-1]


def text_of(bounds, found):
    """Return the trace as text: a line for each step, with the copies that it changed."""
    lines, world = [], start(bounds)
    lines.append("start: " + "; ".join(
        f"n{me + 1} {node_text(node)}" for me, node in enumerate(world.nodes)))
    for number, step in enumerate(found.trace, 1):
        changed = [f"n{me + 1} {node_text(node)}" for me, node in enumerate(step.after.nodes)
                   if node_text(node) != node_text(world.nodes[me])]
        lines.append(f"{number:2} {words_of(step)} -> {'; '.join(changed) or 'as before'}")
        world = step.after
    return "\n".join([*lines, f"invariant {found.broken} is broken"])


def words_of(step):
    words = step.name if step.me is None else f"n{step.me + 1} {step.name}"
    if isinstance(step.asked, int):
        words += f" (n{step.asked + 1})"
    elif hasattr(step.asked, "lost"):
        words += f" (epoch {step.asked.epoch}, lost {named(step.asked.lost)})"
    elif step.asked is not None:
        words += f" ({named(step.asked) or 'no node'} answered)"
    return words + (f": {step.command}" if step.command else "")


def main(words):
    bounds, table = Bounds(), tables.TABLE
    invariants = tuple(INVARIANTS)
    for word in words:
        if word.isdigit():
            invariants = (int(word),)
        elif ":" in word:
            step, guards = word.split(":")
            table = tables.without(step, *(guard.strip() for guard in guards.split(",")))
        else:
            name, number = word.split("=")
            bounds = bounds._replace(**{name: int(number)})
    begun = time.process_time()
    found = search(bounds, table, invariants)
    if found.broken:
        print(text_of(bounds, found))
    print(f"{len(found.worlds)} worlds, {time.process_time() - begun:.1f} s, {bounds}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
