# SPDX-License-Identifier: MPL-2.0
"""Print the table as rows of C, for tests/unit/node/test_follow.c: each row is the input of a pure
function of the code, and what the table and its guards say of it.

A guard that no such function checks, because another node or a program has to be asked, is left
out. test_follow.c names the functions; tests/README.md says what is not compared."""
from itertools import product

import model
from table import COPIES, TABLE
from world import (HIDDEN, SHOWN, Bounds, Mark, Move, Node, Partial, Statement, Take, is_marked,
                   snapshot, start, state_of)

ROWS = {row.step: row for row in TABLE}
WRITE = 100
TRUTH = (False, True)
# The steps of a move at the former owner, as node/move/step.h names them, and the guards that
# move_next does not check.
STEPS = {"mark": "MARK", "send": "SEND", "hide": "HIDE", "give up": "GIVE_UP", "show": "SHOW",
         "unmark": "UNMARK", "open": "END", "learn": "PROMOTE", "unmark copy": "UNMARK"}
ASKED = ("unused", "could take", "target has it")


def world_of(*nodes):
    world = start(Bounds())
    for me, node in enumerate(nodes):
        world = world.put(me, **node._asdict())
    return world


def holds(step, world, me, asked, guards):
    """Return whether these guards of a step hold, all of which the step has."""
    assert set(guards) <= set(ROWS[step].guards), step
    return all(model.GUARDS[guard](world, me, asked) for guard in guards)


def number(truth):
    return int(bool(truth))


def next_step(node):
    """Return the only step of a move that the table has for the former owner."""
    world = world_of(node)
    steps = {STEPS[step] for step in STEPS if state_of(node) in ROWS[step].state and holds(
        step, world, 0, None, [guard for guard in ROWS[step].guards if guard not in ASKED])}
    assert len(steps) <= 1, (node, steps)
    if steps:
        return steps.pop()
    return "PERSON" if is_marked(node) and node.place == "replica" else "END"


def moves():
    """Yield each view of a move, and its next step."""
    for role, device, cancelled, marked, ends, arrived, promoted in product(
            ("PRIMARY", "COPY"), ("", SHOWN, HIDDEN), TRUTH, TRUTH, TRUTH, TRUTH, TRUTH):
        if ends and not marked:
            continue
        final = (snapshot(2, 1),)
        is_moving = role == "PRIMARY" and not promoted
        node = Node("primary" if role == "PRIMARY" else "replica", 1, device=device,
                    data=final if ends else (*final, WRITE), ended=2 if promoted else 0,
                    mark=Mark(1, 2, final) if marked else None,
                    move=Move(1, arrived, cancelled) if is_moving else None)
        yield (f"PLACE_{role}, DEVICE_{(device or 'none').upper()}, {number(cancelled)}, "
               f"{number(marked)}, {number(ends)}, {number(arrived)}, {number(promoted)}",
               f"MOVE_{next_step(node)}")


def takes():
    """Yield each copy that is to become the volume by a move."""
    for epoch, own, token, member, data, asked in product(
            (1, 2, 3), TRUTH, TRUTH, TRUTH, ("same", "missing", "more"), (2, 3, 4)):
        end = snapshot(asked, 1)
        had = {"same": (end,), "missing": (), "more": (end, WRITE)}[data]
        mark = Mark(2, epoch + 1, ()) if own else None
        world = world_of(
            Node("replica", asked - 1, data=(end,), mark=Mark(1, asked, (end,))),
            Node("replica", epoch, data=had, mark=mark, members=(0, 1) if member else (1, 2),
                 partial=Partial(None, ()) if token else None))
        yield (f"{epoch}, {number(own)}, {number(token)}, {number(member)}, "
               f"{number(data != 'missing')}, {number(data == 'more')}, {asked}",
               number(holds("ask", world, 1, 0, ("member", "epoch new", "whole", "same data"))))


def promises():
    """Yield each place of a volume whose owner is asked whether it was given up."""
    for place, mark, epoch, written in product(("primary", "replica"), (None, 1, 2), (1, 2), TRUTH):
        end = (snapshot(2, 1),)
        node = Node(place, epoch, data=(*end, WRITE) if written else end,
                    mark=Mark(mark, 2, end) if mark is not None else None)
        world = world_of(node, Node("replica", 1, data=end))
        yield (f"{'PLACE_PRIMARY' if place == 'primary' else 'PLACE_COPY'}, "
               f"{0 if mark is None else mark + 1}, {epoch}, {number(written)}",
               number(holds("ask", world, 1, 0, ("given up", "for us", "unwritten"))))


def accepts():
    """Yield each copy that a failover to n2 asks for."""
    for epoch, accepted, asked, data in product(
            (1, 2, 3, 4), (None, 1, 2), (2, 3, 4), ("none", "old", "same", "newer")):
        node = Node("replica" if data != "none" else "", epoch, accepted=accepted,
                    data={"none": (), "old": (), "same": (WRITE,), "newer": (WRITE, 101)}[data],
                    partial=Partial(None, ()) if data == "none" else None)
        world = world_of(node, Node("replica", 1, data=(WRITE,), take=Take(
            asked, (WRITE,), (), lost=(2,))))
        known = {"none": 0, "old": 11, "same": 12, "newer": 13}[data]
        yield (f"{epoch}, {0 if accepted is None else accepted + 1}, {asked}, {known}",
               number(holds("accept", world, 0, 1, ("epoch free", "not newer"))))


def failovers():
    """Yield each place of a volume that is to be taken over, and the epoch of the failover."""
    above = model.ABOVE
    for place, epoch, asked, same in product(
            ("primary", "replica", ""), (1, 2, 3), (2, *range(above, above + 4)), TRUTH):
        node = Node(place, epoch, data=(WRITE,))
        said = Statement(asked, 0, (1,), (WRITE,) if same else (), True)
        assert ROWS["fail over"].state == COPIES
        yield (f"{dict(primary='PLACE_PRIMARY', replica='PLACE_COPY').get(place, 'PLACE_NONE')}, "
               f"{epoch}, {asked}, {number(same)}",
               number(state_of(node) in COPIES and holds(
                   "fail over", world_of(node), 0, said, ("epoch far above", "as looked at"))))


def returns():
    """Yield what a host that returned has after the newest snapshot of both: snapshots of moves,
    and writes before or after the last of them."""
    for later, written in product((0, 1, 2), (-1, 0, 1, 2)):
        tail = [snapshot(2, 1)] * later
        if written > later:
            continue
        if written >= 0:
            tail.insert(written, WRITE)
        world = world_of(Node("primary", 1, data=(*tail,), newer=3), Node("primary", 3))
        yield f"{later}, {written}", number(holds("step down", world, 0, 1, (
            "nothing of its own",)))


def votes():
    """Yield members of which some are lost, the answers that count, and who is waited for."""
    for members, lost, answered, marks in product(
            ((0, 1), (0, 1, 2)), ((), (1,), (2,), (1, 2)), ((), (1,), (2,), (1, 2)),
            ((), (1,), (2,), (1, 2))):
        if not set((*lost, *answered, *marks)) <= set(members):
            continue
        world = world_of(Node("primary", 1, members=members, lost=lost, marks=marks),
                         Node("replica", 1), Node("replica", 1))
        bits = ", ".join(str(sum(1 << node for node in group))
                         for group in (members, lost, answered, marks))
        yield bits, number(model.is_majority(world, 0, answered))


def main():
    print("/* Made by tests/follow/rows.py of tests/follow/table.py. */")
    for rows in (moves, takes, promises, accepts, failovers, returns, votes):
        print(f"static const struct {rows.__name__[:-1]}_row {rows.__name__}[] = {{")
        for values, says in rows():
            print(f"\t{{{values}, {says}}},")
        print("};")


if __name__ == "__main__":
    main()
