# SPDX-License-Identifier: MPL-2.0
"""The guards and the effects of the table's steps on a world.

Each is a function of the world, the node that takes the step, and what it asks: a peer's number,
the numbers of several, a statement, or None. A message that is lost is a step that is not taken;
one that is repeated or late is a step that is taken again, or later. A call that carries no
promise, such as StartMove, may come at any time from any caller. So only statements are kept as
messages."""
from world import (HIDDEN, Mark, Move, NOT, Partial, SHOWN, STAGED, Take, common, is_covered,
                   is_marked, is_prefix, seen, snapshot)


def is_owner(node):
    return node.place == "primary" and not node.newer


def is_marked_here(world, me):
    node = world.nodes[me]
    return is_marked(node) and node.mark.to == node.move.to


def ends(world, me):
    return world.nodes[me].data == world.nodes[me].mark.data


def is_streaming(node):
    return node.partial is not None and node.partial.source is not None


def fails_over(node):
    return node.take is not None and node.take.lost is not None


def survivors(world, me):
    """Return the members that the failover which runs on this node has to ask."""
    node = world.nodes[me]
    return tuple(other for other in node.members if other != me and other not in node.take.lost)


def has_copy(node):
    return node.place == "replica" or node.partial is not None


def latest(node):
    """Return the latest epoch of which the node tells others in its answer to Hear."""
    if node.place == "primary":
        return node.newer or node.epoch
    return node.epoch if has_copy(node) else 0


def is_far_above(world, me, statement):
    return statement.epoch >= world.nodes[me].epoch + ABOVE


def is_epoch_new(world, me, peer):
    """Return False if rules_take refuses the epoch of peer's mark."""
    node, mark = world.nodes[me], world.nodes[peer].mark
    if not mark:
        return True
    return node.mark.epoch < mark.epoch if is_marked(node) else node.epoch <= mark.epoch


def could_take(world, me, peer):
    """Return True if peer has the last snapshot, in whose stream the owner's epoch came too."""
    owner, node = world.nodes[me], world.nodes[peer]
    return (owner.move.to == peer and node.place == "replica" and node.data == owner.mark.data
            and node.epoch >= owner.epoch and not node.partial and not node.take
            and is_epoch_new(world, peer, me))


def is_epoch_free(world, me, peer):
    node, epoch = world.nodes[me], world.nodes[peer].take.epoch
    return not has_copy(node) or node.epoch < epoch or (
        node.epoch == epoch and node.accepted == peer)


def is_majority(world, me, answered):
    """The rule of check_majority in node/owner/outcome.c, with ownership_is_majority."""
    node = world.nodes[me]
    voters = [other for other in node.members if other not in answered or other in node.marks]
    heard = sum(other in answered and other in node.marks and other not in node.lost
                and latest(world.nodes[other]) > 0 for other in node.members)
    return (heard + 1) * 2 > sum(other not in node.lost for other in voters)


GUARDS = {
    "confirmed": lambda w, me, _: w.nodes[me].confirmed,
    "unused": lambda w, me, _: w.nodes[me].mounted == NOT,
    "member": lambda w, me, peer: peer in w.nodes[me].members,
    "no member": lambda w, me, peer: peer not in w.nodes[me].members,
    "counts": lambda w, me, peer: peer not in w.nodes[me].lost,
    "does not count": lambda w, me, peer: peer in w.nodes[me].lost,
    "goes on": lambda w, me, _: not w.nodes[me].move.stays,
    "stays": lambda w, me, _: w.nodes[me].move.stays,
    "marked": lambda w, me, _: is_marked_here(w, me),
    "not marked": lambda w, me, _: not is_marked_here(w, me),
    "ends": lambda w, me, _: ends(w, me),
    "stays or does not end": lambda w, me, _: w.nodes[me].move.stays or not ends(w, me),
    "shown": lambda w, me, _: w.nodes[me].device == SHOWN,
    "not shown": lambda w, me, _: w.nodes[me].device != SHOWN,
    "hidden": lambda w, me, _: w.nodes[me].device == HIDDEN,
    "not hidden": lambda w, me, _: w.nodes[me].device != HIDDEN,
    "goes on or not hidden": lambda w, me, _: not w.nodes[me].move.stays
    or w.nodes[me].device != HIDDEN,
    "not learned": lambda w, me, _: not w.nodes[me].ended,
    "not arrived": lambda w, me, _: not w.nodes[me].move.arrived,
    "arrived": lambda w, me, _: w.nodes[me].move.arrived,
    "could take": could_take,
    "given up": lambda w, me, peer: w.nodes[peer].place == "replica",
    "for us": lambda w, me, peer: is_marked(w.nodes[peer]) and w.nodes[peer].mark.to == me,
    "unwritten": lambda w, me, peer: not w.nodes[peer].mark
    or w.nodes[peer].mark.data == w.nodes[peer].data,
    "whole": lambda w, me, _: not w.nodes[me].partial,
    "same data": lambda w, me, peer: not w.nodes[peer].mark
    or w.nodes[peer].mark.data == w.nodes[me].data,
    "epoch new": is_epoch_new,
    "free": lambda w, me, _: not w.nodes[me].take,
    "unlocked": lambda w, me, _: not is_streaming(w.nodes[me]) and not fails_over(w.nodes[me]),
    "answered": lambda w, me, _: w.nodes[me].take and w.nodes[me].take.lost is None,
    "recorded": lambda w, me, _: w.nodes[me].take.recorded,
    "target has it": lambda w, me, peer: w.nodes[me].mark.to == peer
    and is_owner(w.nodes[peer]) and w.nodes[peer].epoch >= w.nodes[me].mark.epoch,
    "target had it": lambda w, me, _: w.nodes[me].ended,
    "epoch far above": is_far_above,
    "as looked at": lambda w, me, statement: w.nodes[me].data == statement.data,
    "asks us": lambda w, me, peer: fails_over(w.nodes[peer]) and me in survivors(w, peer)
    and me not in w.nodes[peer].take.accepted,
    "epoch free": is_epoch_free,
    "not newer": lambda w, me, peer: w.nodes[me].place == ""
    or is_prefix(w.nodes[me].data, w.nodes[peer].take.data)
    or (w.nodes[me].epoch, w.nodes[me].accepted) == (w.nodes[peer].take.epoch, peer),
    "all accepted": lambda w, me, _: fails_over(w.nodes[me])
    and set(w.nodes[me].take.accepted) == set(survivors(w, me)),
    "owner": lambda w, me, peer: is_owner(w.nodes[peer]),
    "owner confirmed": lambda w, me, peer: w.nodes[peer].confirmed,
    "counts there": lambda w, me, peer: me not in w.nodes[peer].lost,
    "epoch not lower": lambda w, me, peer: w.nodes[peer].epoch >= w.nodes[me].epoch,
    "epoch not passed": lambda w, me, peer: w.nodes[peer].epoch >= w.nodes[me].newer,
    "member of owner": lambda w, me, peer: me in w.nodes[peer].members
    and me not in w.nodes[peer].lost,
    "base": lambda w, me, peer: w.nodes[me].place == ""
    or is_prefix(w.nodes[me].data, w.nodes[peer].data),
    "whole copy": lambda w, me, peer: w.nodes[peer].place == "replica"
    and is_prefix(w.nodes[peer].data, w.nodes[me].data),
    "later owner": lambda w, me, peer: latest(w.nodes[peer]) > seen(w.nodes[me]),
    "no later owner": lambda w, me, peers: not any(
        latest(w.nodes[peer]) > w.nodes[me].epoch for peer in peers),
    "majority": is_majority,
    "nothing of its own": lambda w, me, peer: is_covered(w.nodes[me].data, w.nodes[peer].data),
    "own data": lambda w, me, peer: not is_covered(w.nodes[me].data, w.nodes[peer].data),
    "split": lambda w, me, _: w.nodes[me].split is not None,
    "epoch taken": lambda w, me, _: w.nodes[me].epoch >= w.nodes[me].newer,
    "epoch not taken": lambda w, me, _: w.nodes[me].epoch < w.nodes[me].newer,
}
EFFECTS = {}
ABOVE = 1000  # EPOCH_FAILOVER of common/volume/epoch.h


def effect(step):
    return lambda function: EFFECTS.setdefault(step, function)


def without_device(node):
    return HIDDEN if node.device else ""


def record(world, me, epoch, accepted=None, **fields):
    """Set zcsi:epoch, by which an older zcsi:accepted and an older mark do not count any more."""
    node = world.nodes[me]
    if accepted is None and node.epoch == epoch:
        accepted = node.accepted
    mark = node.mark if node.mark and node.mark.epoch > epoch else None
    newer = node.newer if node.newer > epoch else 0
    return world.put(me, **{"epoch": epoch, "accepted": accepted, "mark": mark, "newer": newer,
                            **fields})


def joined(*groups):
    return tuple(sorted(set().union(*groups)))


# Effects return the world afterwards, or None if there is nothing to do.

@effect("stage")
def stage(world, me, _):
    return None if world.nodes[me].mounted == STAGED else world.put(me, mounted=STAGED)


@effect("receive")
def receive(world, me, peer):
    """A new dataset has its properties from the first byte; those of another one are set before the
    data comes."""
    node, owner = world.nodes[me], world.nodes[peer]
    data = owner.data
    if owner.move:
        if not is_marked_here(world, peer) or owner.move.arrived:
            return None
        data = owner.mark.data
    equal = node.place and node.data == data and node.epoch == owner.epoch and not node.partial
    if equal or node.place and not is_prefix(node.data, data):
        return None
    return record(world, me, owner.epoch, partial=Partial(peer, data), members=owner.members)


@effect("receive ends")
def receive_ends(world, me, peer):
    node, partial = world.nodes[me], world.nodes[me].partial
    if not partial or partial.source != peer:
        return None
    return world.put(me, place="replica", data=partial.data, partial=None)


@effect("bookmark")
def bookmark(world, me, peer):
    return world.put(me, marks=joined(world.nodes[me].marks, (peer,)))


@effect("count again")
def count_again(world, me, peer):
    lost = tuple(node for node in world.nodes[me].lost if node != peer)
    return world.put(me, lost=lost)


@effect("take in")
def take_in(world, me, peer):
    return world.put(me, members=joined(world.nodes[me].members, (peer,)))


@effect("close")
def close(world, me, peer):
    return world.put(me, move=Move(peer))


@effect("mark")
def mark(world, me, _):
    node = world.nodes[me]
    data = (*node.data, snapshot(node.epoch + 1, node.move.to))
    return world.put(me, data=data, mark=Mark(node.move.to, node.epoch + 1, data),
                     move=node.move._replace(arrived=False))


@effect("send")
def send(world, me, _):
    return world.put(me, move=world.nodes[me].move._replace(arrived=True))


@effect("give up")
def give_up(world, me, _):
    return world.put(me, place="replica", confirmed=False, move=None)


@effect("hide")
def hide(world, me, _):
    return world.put(me, device=HIDDEN)


@effect("show")
@effect("finish")
def show(world, me, _):
    return world.put(me, device=SHOWN)


@effect("unmark")
def unmark(world, me, _):
    return world.put(me, mark=None)


@effect("open")
def open_again(world, me, _):
    return world.put(me, move=None)


@effect("learn")
def learn(world, me, _):
    return world.put(me, ended=world.nodes[me].mark.epoch)


@effect("unmark copy")
def unmark_copy(world, me, _):
    return record(world, me, world.nodes[me].ended, ended=0)


@effect("ask")
def ask(world, me, peer):
    """Keep what the former owner promised. Without a mark, which only a planted error allows, use
    what the asking node assumes."""
    node, owner = world.nodes[me], world.nodes[peer]
    promise = owner.mark or Mark(me, owner.epoch + 1, node.data)
    marks = joined(owner.marks, (peer,)) if len(owner.members) > 2 else ()
    return world.put(me, take=Take(promise.epoch, promise.data, marks))


@effect("set epoch")
def set_epoch(world, me, _):
    take = world.nodes[me].take
    if take.recorded:
        return None
    return record(world, me, take.epoch, take=take._replace(recorded=True))


@effect("promote")
def promote(world, me, _):
    node = world.nodes[me]
    marks = tuple(other for other in joined(node.marks, node.take.marks) if other != me)
    world = world.put(me, place="primary", mark=None, newer=0, confirmed=True, written_off=False,
                      marks=marks, lost=node.take.lost or (), take=None)
    return world._replace(terms=tuple(sorted((*world.terms, (node.epoch, me)))))


@effect("fail over")
def fail_over(world, me, statement):
    if me != statement.target:
        return None
    return world.put(me, partial=None, take=Take(
        statement.epoch, statement.data, statement.lost, lost=statement.lost))


@effect("accept")
def accept(world, me, peer):
    take = world.nodes[peer].take
    take = take._replace(accepted=joined(take.accepted, (me,)))
    if has_copy(world.nodes[me]):
        world = record(world, me, take.epoch, accepted=peer)
    if world.nodes[me].place:
        take = take._replace(marks=joined(take.marks, (me,)))
    return world.put(peer, take=take)


@effect("accept own")
def accept_own(world, me, _):
    take = world.nodes[me].take
    if take.recorded:
        return None
    return record(world, me, take.epoch, accepted=me, take=take._replace(recorded=True))


@effect("promote after loss")
def promote_after_loss(world, me, _):
    """Two lost nodes of three may confirm each other when they are back; the manual says so."""
    take = world.nodes[me].take
    for said in world.statements:
        if (said.epoch, said.target) == (take.epoch, me) and said.true and len(said.lost) == 1:
            world = world.put(said.lost[0], written_off=True)
    return promote(world, me, None)


@effect("confirm")
def confirm(world, me, _):
    return None if world.nodes[me].confirmed else world.put(me, confirmed=True)


@effect("supersede")
def supersede(world, me, peer):
    return world.put(me, newer=latest(world.nodes[peer]), confirmed=False)


@effect("take the epoch")
def take_the_epoch(world, me, _):
    node = world.nodes[me]
    mark = node.mark if node.mark and node.mark.epoch > node.newer else None
    return world.put(me, epoch=node.newer, accepted=None, mark=mark)


@effect("step down")
def step_down(world, me, peer):
    """The snapshots that the new owner lacks are destroyed before, and their marks with them."""
    node = world.nodes[me]
    data = common(node.data, world.nodes[peer].data)
    mark = node.mark if node.mark and is_prefix(node.mark.data, data) else None
    return record(world.put(me, mark=mark), me, node.epoch, place="replica", data=data, lost=(),
                  written_off=False, device=without_device(node))


@effect("split")
def split(world, me, peer):
    node = world.nodes[me]
    if node.split is not None:
        return None
    return world.put(me, split=common(node.data, world.nodes[peer].data))


@effect("put aside")
def put_aside(world, me, _):
    node = world.nodes[me]
    return record(world, me, node.newer, place="replica", data=node.split, newer=0, lost=(),
                  marks=(), split=None, written_off=False, device=without_device(node),
                  diverged=node.diverged | {node.data})
