# SPDX-License-Identifier: MPL-2.0
"""The guards and the effects of the table's steps on a world.

Each is a function of the world, the node that takes the step, and what it asks: a peer's number, a
statement, or None. A message that is lost is a step that is not taken; one that is repeated or late
is a step that is taken again, or later. A call that carries no promise, such as StartMove, may come
at any time from any caller. So only statements are kept as messages."""
from world import (ELSEWHERE, Moving, NEVER, NODES, NOT, Partial, STAGED, Statement, age, common,
                   is_above, is_prefix, known, promised, seen)

GUARDS = {
    "confirmed": lambda w, me, _: w.nodes[me].confirmed,
    "unused": lambda w, me, _: w.nodes[me].mounted == NOT,
    "unwritten": lambda w, me, _: w.nodes[me].data == w.nodes[me].moving.data,
    "sent": lambda w, me, _: w.nodes[me].sent == (w.nodes[me].moving.to, w.nodes[me].moving.data),
    "arrived": lambda w, me, peer: w.nodes[peer].place == "replica"
    and w.nodes[peer].data == w.nodes[me].moving.data,
    "demoted": lambda w, me, peer: w.nodes[peer].place == "replica",
    "promised": lambda w, me, peer: w.nodes[peer].moving and w.nodes[peer].moving.to == me,
    "promise stands": lambda w, me, peer: not w.nodes[peer].moving
    or w.nodes[peer].moving.number > seen(w.nodes[peer])[0],
    "proof": lambda w, me, _: w.nodes[me].proof,
    "same guid": lambda w, me, _: w.nodes[me].data == w.nodes[me].proof[1],
    "whole": lambda w, me, _: not w.nodes[me].partial,
    "not primary": lambda w, me, peer: w.nodes[peer].place != "primary",
    "no failover": lambda w, me, peer: seen(w.nodes[peer])[0] < w.nodes[me].moving.number
    or seen(w.nodes[peer])[1] == peer,
    "all accepted": lambda w, me, statement: statement.accepted == statement.survivors,
    "newest": lambda w, me, statement: all(
        age(w.nodes[node].data) <= age(w.nodes[me].data) for node in statement.survivors),
    "owner": lambda w, me, peer: w.nodes[peer].place == "primary"
    and w.nodes[peer].superseded == NEVER,
    "owner confirmed": lambda w, me, peer: w.nodes[peer].confirmed,
    "epoch not lower": lambda w, me, peer: w.nodes[peer].epoch >= seen(w.nodes[me]),
    "higher epoch": lambda w, me, peer: is_above(w.nodes[peer], w.nodes[me]),
    "no higher epoch": lambda w, me, peer: not is_above(w.nodes[peer], w.nodes[me]),
    "has a copy": lambda w, me, peer: w.nodes[peer].place or w.nodes[me].members == (me,),
    "nothing of its own": lambda w, me, peer: is_prefix(w.nodes[me].data, w.nodes[peer].data),
    "own data": lambda w, me, peer: not is_prefix(w.nodes[me].data, w.nodes[peer].data),
    "member": lambda w, me, peer: peer in w.nodes[me].members or w.nodes[me].members == (me,),
    "member of owner": lambda w, me, peer: me in w.nodes[peer].members,
}
EFFECTS = {}


def guard(name):
    return lambda function: GUARDS.setdefault(name, function)


def effect(step):
    return lambda function: EFFECTS.setdefault(step, function)


@guard("epoch free")
def is_free(world, me, asked):
    node = world.nodes[me]
    if isinstance(asked, int):  # `take back` asks the node with this number
        return node.moving.number + 1 > known(world.nodes[asked])
    epoch = asked.epoch if asked else node.proof[0]
    again = epoch == seen(node) and not promised(node)
    return epoch[0] > known(node) or again and (node.place != "primary" or epoch[0] > node.epoch[0])


@guard("epoch recorded")
def is_recorded(world, me, statement):
    node = world.nodes[me]
    epoch = statement.epoch if statement else node.proof[0]
    return seen(node) == epoch and not promised(node)


@guard("base")
def is_base(world, me, peer):
    node = world.nodes[me]
    return not node.place or is_prefix(node.data, world.nodes[peer].data)


# Effects return the world afterwards, or None if there is nothing to do.

@effect("stage")
def stage(world, me, _):
    return None if world.nodes[me].mounted == STAGED else world.put(me, mounted=STAGED)


@effect("receive")
def receive(world, me, peer):
    node, owner = world.nodes[me], world.nodes[peer]
    partial = Partial(peer, owner.epoch, owner.data, owner.members)
    equal = node.place and node.data == owner.data and node.epoch == owner.epoch
    return None if equal or node.partial == partial else world.put(me, partial=partial)


@effect("receive ends")
def receive_ends(world, me, peer):
    node, partial = world.nodes[me], world.nodes[me].partial
    if not partial or partial.source != peer:
        return None
    return world.put(me, place=node.place or "replica", data=partial.data, members=partial.members,
                     epoch=max(node.epoch, partial.epoch), partial=None, superseded=NEVER,
                     moving=None)


@effect("take in")
def take_in(world, me, peer):
    members = world.nodes[me].members
    return None if peer in members else world.put(me, members=tuple(sorted((*members, peer))))


@effect("final")
def final(world, me, peer):
    node = world.nodes[me]
    return world.put(me, moving=Moving(peer, node.epoch[0] + 1, node.data), sent=None)


@effect("send")
def send(world, me, peer):
    moving = world.nodes[me].moving
    return world.put(me, sent=(peer, moving.data)) if moving.to == peer else None


@effect("demote")
def demote(world, me, _):
    return world.put(me, place="replica", confirmed=False, sent=None)


@effect("cancel")
def cancel(world, me, _):
    return world.put(me, place="primary", moving=None, sent=None)


@effect("ask")
def ask(world, me, peer):
    """Keep the peer's promise as proof. Without one, which only a planted error allows, use what
    the asking node assumes."""
    node, owner = world.nodes[me], world.nodes[peer]
    moving = owner.moving or Moving(me, owner.epoch[0] + 1, node.data)
    return world.put(me, proof=((moving.number, me), moving.data))


@effect("set epoch")
def set_epoch(world, me, _):
    return world.put(me, epoch=world.nodes[me].proof[0])


@effect("promote")
def promote(world, me, _, **fields):
    world = world.put(me, place="primary", moving=None, superseded=NEVER, confirmed=True,
                      written_off=False, **fields)
    return world._replace(terms=tuple(sorted((*world.terms, world.nodes[me].epoch))))


@effect("take back")
def take_back(world, me, peer):
    node = world.nodes[me]
    epoch = (node.moving.number + 1, me)
    if peer != node.moving.to or node.proof and node.proof[0] == epoch:
        return None
    world = world.put(me, proof=(epoch, node.data))
    return world.put(peer, epoch=epoch, partial=None) if world.nodes[peer].epoch > NEVER else world


@effect("accept")
def accept(world, me, statement):
    if me not in statement.survivors or me in statement.accepted:
        return None
    if world.nodes[me].place == "primary":
        world = world.put(me, superseded=statement.epoch)
    else:
        world = world.put(me, epoch=statement.epoch, members=statement.survivors, partial=None)
    accepted = statement._replace(accepted=tuple(sorted((*statement.accepted, me))))
    return world._replace(statements=tuple(
        accepted if said == statement else said for said in world.statements))


@effect("promote after loss")
def promote_after_loss(world, me, statement):
    if me != statement.epoch[1]:
        return None
    for lost in statement.lost:
        # Two lost nodes may confirm each other when they are back; the zcsi command says so.
        if statement.true and len(statement.lost) == 1:
            world = world.put(lost, written_off=True)
    return promote(world, me, None, epoch=statement.epoch, members=statement.survivors)


@effect("own again")
def own_again(world, me, statement):
    return promote_after_loss(world, me, statement)


@effect("confirm")
def confirm(world, me, _):
    return None if world.nodes[me].confirmed else world.put(me, confirmed=True)


@effect("supersede")
def supersede(world, me, peer):
    return world.put(me, superseded=seen(world.nodes[peer]), sent=None)


@effect("step down")
def step_down(world, me, _):
    return world.put(me, place="replica", moving=None, confirmed=False, written_off=False)


@effect("put aside")
def put_aside(world, me, _):
    node = world.nodes[me]
    return world.put(me, place="", data=(), moving=None, confirmed=False, written_off=False,
                     proof=None, diverged=node.diverged | {node.data})


@effect("clone base")
def clone_base(world, me, peer):
    node, owner = world.nodes[me], world.nodes[peer]
    if not node.diverged:
        return None
    data = max((common(data, owner.data) for data in node.diverged), key=len)
    return world.put(me, place="replica", data=data, epoch=owner.epoch, superseded=NEVER)


# Events that zcsi does not decide. Each yields (words, node, world afterwards).

def workload(world, bounds):
    """A workload writes while it has a mount, even if the dataset is no primary any more."""
    for me, node in enumerate(world.nodes):
        if not node.mounted:
            continue
        if world.writes < bounds.writes:
            write = node.epoch[0] * 100 + world.writes
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


def accidents(world, bounds):
    for me, node in enumerate(world.nodes):
        if node.sent or node.proof:
            yield "zcsi-node is killed", me, world.put(me, sent=None, proof=None)
        if node.up and world.powers < bounds.powers:
            yield "power loss", me, power_loss(world, me)


def power_loss(world, me):
    for at, node in enumerate(world.nodes):
        if node.partial and (at == me or node.partial.source == me):
            world = world.put(at, partial=node.partial._replace(source=None))
    return world.put(me, up=False, mounted=NOT, confirmed=False, sent=None, proof=None)._replace(
        powers=world.powers + 1)


def failovers(world, bounds):
    """A person states a loss, true or not. All other nodes have to answer, and none of them may be
    the primary with the newest epoch."""
    if len(world.statements) == bounds.statements:
        return
    for lost in ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2)):
        left = {me: world.nodes[me] for me in NODES if me not in lost}
        number = max(known(node) for node in left.values()) + 1
        newest = max(seen(node) for node in left.values())
        owner = any(node.place == "primary" and node.epoch == newest for node in left.values())
        fit = [me for me, node in left.items()
               if node.place == "replica" or node.place and node.superseded > NEVER]
        if (len(lost) > bounds.lost or number > bounds.number or owner or not fit
                or not all(node.up for node in left.values())):
            continue
        target = max(fit, key=lambda me: age(world.nodes[me].data))
        statement = Statement(
            (number, target), lost, tuple(me for me in left if left[me].epoch > NEVER),
            not any(world.nodes[me].up for me in lost))
        yield (f"a person states the loss of {named_or_none(lost)}", None,
               world._replace(statements=(*world.statements, statement)))


def named_or_none(lost):
    return ", ".join(f"n{me + 1}" for me in lost) or "no node"
