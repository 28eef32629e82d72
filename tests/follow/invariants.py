# SPDX-License-Identifier: MPL-2.0
"""The invariants of a volume with copies, by their numbers. Each is a function of a step: the world
before, the step's name, the node that took it, what it asked, and the world afterwards. It returns
True if it holds."""
from world import NEVER, is_prefix, seen

PROMOTIONS = ("promote", "promote after loss", "own again")


def one_primary(before, step, me, _, after):
    """An epoch is used once. Its number is used once too, unless a failover did not reach the node
    that had used it. Without a failover there is at most one primary."""
    if not after.statements and sum(node.place == "primary" for node in after.nodes) > 1:
        return False
    if step not in PROMOTIONS:
        return True
    epoch = after.nodes[me].epoch
    return all(term != epoch and out_of_reach(before, term, epoch)
               for term in before.terms if term[0] == epoch[0])


def out_of_reach(world, one, other):
    """True if a failover that made one of the two epochs did not ask the node of the other epoch,
    because that node was named lost or had no copy."""
    return any(said.epoch == made and owner not in said.survivors
               for made, owner in ((one, other[1]), (other, one[1])) for said in world.statements)


def streams(before, step, me, _, after):
    """Only a copy receives a stream, and only if the stream's epoch is not lower than its own and
    the stream begins at its newest snapshot."""
    if step not in ("receive", "receive ends"):
        return True
    node, partial = before.nodes[me], (after if step == "receive" else before).nodes[me].partial
    return (node.place != "primary" and partial.epoch >= seen(node)
            and is_prefix(node.data, partial.data))


def serves(before, step, me, _, after):
    """Stage only on a primary that is not superseded and not moving, and never on one that a true
    failover has replaced."""
    node = before.nodes[me] if step == "stage" else None
    return not node or (node.place == "primary" and node.superseded == NEVER and not node.moving
                        and not node.written_off)


def authority(before, step, me, asked, after):
    """Promote only with the demoted owner's record for this very snapshot, its own record when the
    promise is taken back, or a statement of loss. A node that a failover did not ask is exempt."""
    if step != "promote":
        return step not in PROMOTIONS or asked in before.statements
    node, number = before.nodes[me], after.nodes[me].epoch[0]
    return (bool(node.moving) and node.moving.number + 1 == number
            or any(other.moving == (me, number, node.data) and other.place == "replica"
                   for other in before.nodes)
            or any(me not in said.survivors for said in before.statements))


def moves(before, step, me, _, after):
    """A planned move loses nothing: a dataset that is no primary acknowledges no write, the new
    primary has all data of the old one, and without a failover it has all writes."""
    if step == "write" and before.nodes[me].place != "primary":
        return False
    if step == "promote":
        node, number = after.nodes[me], after.nodes[me].epoch[0]
        if any(other.moving and other.moving[:2] == (me, number) and other.place == "replica"
               and other.data != node.data for other in before.nodes):
            return False
    return bool(after.statements) or all(
        len(node.data) == after.writes for node in after.nodes if node.place == "primary")


def suffix(before, step, me, asked, after):
    """A failover loses only the newest writes: no replica that it asked has more than the new
    primary."""
    if step != "promote after loss":
        return True
    data = after.nodes[me].data
    return not any(other.place == "replica" and len(other.data) > len(data)
                   and is_prefix(data, other.data)
                   for other in (before.nodes[node] for node in asked.survivors))


def kept(before, step, me, _, after):
    """Data that only one copy has is never destroyed: each acknowledged write is on some disk."""
    if all(new is old or new.data is old.data and new.diverged is old.diverged
           for old, new in zip(before.nodes, after.nodes)):
        return True
    written = set()
    for node in after.nodes:
        written.update(node.data, *node.diverged)
    return len(written) == after.writes


def epochs(before, step, me, asked, after):
    """The epoch of a copy never decreases, and each survivor has it recorded before the new primary
    serves."""
    if any(new is not old and (new.epoch < old.epoch or seen(new) < seen(old))
           for old, new in zip(before.nodes, after.nodes)):
        return False
    return step != "promote after loss" or all(
        seen(after.nodes[node]) >= asked.epoch for node in asked.survivors)


INVARIANTS = {1: one_primary, 2: streams, 3: serves, 4: authority, 5: moves, 6: suffix, 7: kept,
              9: epochs}
