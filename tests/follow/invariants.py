# SPDX-License-Identifier: MPL-2.0
"""The invariants of a volume with copies, by their numbers. Each is a function of a step: the world
before, the step's name, the node that took it, what it asked, and the world afterwards. It returns
True if it holds."""
from world import HIDDEN, is_prefix, seen, writes

PROMOTIONS = ("promote", "promote after loss")


def one_primary(before, step, me, _, after):
    """An epoch is used once. Without a failover there is at most one primary."""
    if not after.statements and sum(node.place == "primary" for node in after.nodes) > 1:
        return False
    return step not in PROMOTIONS or all(
        epoch != after.nodes[me].epoch for epoch, _ in before.terms)


def streams(before, step, me, _, after):
    """Only a copy receives a stream, and only if the stream's epoch is not lower than its own and
    the stream begins at its newest snapshot."""
    if step not in ("receive", "receive ends"):
        return True
    node, partial = before.nodes[me], (after if step == "receive" else before).nodes[me].partial
    return (node.place != "primary" and after.nodes[me].epoch >= node.epoch
            and (not node.place or is_prefix(node.data, partial.data))
            and (step == "receive" or before.nodes[partial.source].epoch >= node.epoch))


def serves(before, step, me, _, after):
    """Stage only on a primary that knows of no later owner and is not moving, and never on one that
    a true failover has replaced."""
    node = before.nodes[me] if step == "stage" else None
    return not node or (node.place == "primary" and not node.newer and not node.move
                        and node.device != HIDDEN and not node.written_off)


def authority(before, step, me, _, after):
    """Promote only with the demoted owner's record for this very snapshot, if that owner knew of no
    later one when it was asked, or with a statement of loss."""
    if step == "ask":
        take = after.nodes[me].take
        return any(other.mark == (me, take.epoch, take.data) and other.place == "replica"
                   and seen(other) < other.mark.epoch for other in before.nodes)
    if step not in PROMOTIONS:
        return True
    node = before.nodes[me]
    return (node.epoch, node.data) == (node.take.epoch, node.take.data) and (
        step == "promote" or any(
            (said.epoch, said.target, said.lost) == (node.take.epoch, me, node.take.lost)
            for said in before.statements))


def moves(before, step, me, _, after):
    """A planned move loses nothing: a dataset that is no primary acknowledges no write, and has no
    device; the new primary has all data of the old one, and without a failover it has all
    writes."""
    if step == "write" and before.nodes[me].place != "primary":
        return False
    if step == "give up" and before.nodes[me].device not in ("", HIDDEN):
        return False
    if step == "promote":
        node = after.nodes[me]
        if any(other.mark and other.mark[:2] == (me, node.epoch) and other.place == "replica"
               and other.data != node.data for other in before.nodes):
            return False
    return bool(after.statements) or all(
        len(writes(node.data)) == after.writes for node in after.nodes if node.place == "primary")


def suffix(before, step, me, _, after):
    """A failover loses only the newest writes: no copy on a node that is not declared lost has more
    than the new primary."""
    if step != "promote after loss":
        return True
    data, lost = writes(after.nodes[me].data), before.nodes[me].take.lost
    return not any(node.place == "replica" and len(writes(node.data)) > len(data)
                   and is_prefix(data, writes(node.data))
                   for other, node in enumerate(before.nodes) if other not in lost)


def kept(before, step, me, _, after):
    """Data that only one copy has is never destroyed: each acknowledged write is on some disk."""
    if all(new is old or new.data is old.data and new.diverged is old.diverged
           for old, new in zip(before.nodes, after.nodes)):
        return True
    written = set()
    for node in after.nodes:
        written.update(writes(node.data), *map(writes, node.diverged))
    return len(written) == after.writes


def epochs(before, step, me, _, after):
    """The epoch of a copy never decreases, and each member with a copy that is not declared lost
    has it recorded before the new primary serves."""
    if any(new is not old and (new.epoch < old.epoch or seen(new) < seen(old))
           for old, new in zip(before.nodes, after.nodes)):
        return False
    if step != "promote after loss":
        return True
    take = before.nodes[me].take
    return all(other in take.lost or not after.nodes[other].place
               or seen(after.nodes[other]) >= take.epoch for other in after.nodes[me].members)


INVARIANTS = {1: one_primary, 2: streams, 3: serves, 4: authority, 5: moves, 6: suffix, 7: kept,
              9: epochs}
