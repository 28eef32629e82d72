# SPDX-License-Identifier: MPL-2.0
"""Events that zcsi does not decide: what workloads, hosts, connections and persons do. Each
function yields (words, node, world afterwards)."""
from itertools import combinations

import model
from world import ELSEWHERE, NODES, NOT, SHOWN, STAGED, Statement, age


def workload(world, bounds):
    """A workload writes while it has a mount, even if the dataset is no primary any more."""
    for me, node in enumerate(world.nodes):
        if not node.mounted:
            continue
        if world.writes < bounds.writes:
            write = node.epoch * 100 + world.writes
            yield "write", me, world.put(me, data=(*node.data, write))._replace(
                writes=world.writes + 1)
        yield "unmount", me, world.put(me, mounted=NOT)
        if node.mounted == STAGED:
            yield "unmount, but not in another namespace", me, world.put(me, mounted=ELSEWHERE)


def boots(world, _):
    for me, node in enumerate(world.nodes):
        if not node.up:
            yield "boot", me, world.put(me, up=True)._replace(statements=tuple(
                said._replace(true=said.true and me not in said.lost)
                for said in world.statements))


def cuts(world, bounds):
    """The end of a connection or of the other process ends a stream. A person ends a move."""
    for me, node in enumerate(world.nodes if bounds.kills else ()):
        if model.is_streaming(node):
            yield "the stream is cut", me, world.put(me, partial=node.partial._replace(source=None))
        if node.move and not node.move.stays:
            yield "the move is cancelled", me, world.put(me, move=node.move._replace(stays=True))


def accidents(world, bounds):
    for me, node in enumerate(world.nodes):
        if bounds.kills and (node.move or node.take or node.ended):
            yield "zcsi-node is killed", me, killed(world, me)
        if node.up and world.powers < bounds.powers:
            yield "power loss", me, power_loss(world, me)


def killed(world, me):
    """The next zcsi-node gives a volume its device back (node/move/earlier.c)."""
    node = world.nodes[me]
    device = SHOWN if node.device and node.place == "primary" else node.device
    return world.put(me, move=None, take=None, ended=0, device=device)


def power_loss(world, me):
    for at, node in enumerate(world.nodes):
        if node.partial and (at == me or node.partial.source == me):
            world = world.put(at, partial=node.partial._replace(source=None))
    return killed(world, me).put(me, up=False, mounted=NOT, confirmed=False)._replace(
        powers=world.powers + 1)


def failovers(world, bounds):
    """A person states a loss, true or not, as `zcsi failover` allows (controller/cli/failover): no
    node that answers has the volume, the copy is the newest one of the latest epoch, and all
    members that it knows and that are not declared lost answer."""
    if len(world.statements) == bounds.statements:
        return
    for lost in (lost for n in range(1, bounds.lost + 1) for lost in combinations(NODES, n)):
        said = {me: world.nodes[me] for me in NODES if me not in lost and world.nodes[me].up}
        found = {me: node for me, node in said.items() if model.has_copy(node)}
        if not found or any(model.is_owner(node) for node in said.values()):
            continue
        epoch = max(node.epoch for node in found.values()) + model.ABOVE
        best = max(found.values(), key=rank)
        if epoch > bounds.epoch:
            continue
        for target, node in found.items():
            if (may_be_named(node, best) and set(lost) & set(node.members)
                    and all(other in lost or other in said for other in best.members)):
                declared = tuple(other for other in lost if other in node.members)
                statement = Statement(epoch, target, declared, node.data,
                                      not any(world.nodes[other].up for other in declared))
                yield (f"a person states the loss of {named_or_none(lost)}", None,
                       world._replace(statements=(*world.statements, statement)))


def rank(node):
    """Return the order of copies in controller/cli/failover/plan.c."""
    return (bool(node.place), node.epoch, age(node.data))


def may_be_named(node, best):
    """Return True if the person may choose the copy with --to."""
    return node.place and (rank(node) == rank(best) or node.data == best.data
                           or best.accepted is not None)


def named_or_none(lost):
    return ", ".join(f"n{me + 1}" for me in lost) or "no node"
