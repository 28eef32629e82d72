# SPDX-License-Identifier: MPL-2.0
"""A cluster of three nodes with one volume: what is on the disks, what is mounted, what each
process remembers, and what a person stated.

Data is the tuple of the writes in it, in their order, and of the snapshots with a mark: those are
negative numbers. So a snapshot is a prefix and stands for its guid. An epoch is a whole number, as
in zcsi:epoch, and grows by one with a move and by a thousand with a failover."""
from typing import NamedTuple

from table import DEMOTED, MOVING, NONE, PRIMARY, RECEIVING, REPLICA, SUPERSEDED

NODES = (0, 1, 2)
# Values of Node.device: a filesystem has none.
SHOWN, HIDDEN = "shown", "hidden"
# Values of Node.mounted: not mounted; at the staging path; only in another mount namespace.
NOT, STAGED, ELSEWHERE = 0, 1, 2


class Mark(NamedTuple):
    """The property zcsi:moving of a snapshot, and the data of the snapshot."""
    to: int
    epoch: int
    data: tuple


class Partial(NamedTuple):
    """A stream that is being received, or the received part of one that was cut (source is
    None)."""
    source: int
    data: tuple


class Move(NamedTuple):
    """Memory of the thread of a move (node/move/depart.h)."""
    to: int
    arrived: bool = False   # the target has the last snapshot, and could take the volume
    stays: bool = False     # the move was cancelled, or one of its steps failed


class Take(NamedTuple):
    """Memory of a call of Promote or Failover, which makes the copy the volume."""
    epoch: int
    data: tuple             # the data of the copy, when it was looked at
    marks: tuple            # the nodes whose copies the new owner may continue
    recorded: bool = False  # zcsi:epoch is set
    lost: tuple = None      # the nodes that were declared lost; None: it is a move
    accepted: tuple = ()    # the other members that have promised their copy


class Node(NamedTuple):
    # On disk.
    place: str = ""               # "primary", "replica", or "" if there is no whole dataset
    epoch: int = 0                # zcsi:epoch
    accepted: int = None          # the node of zcsi:accepted, if that is of this epoch
    data: tuple = ()
    members: tuple = ()           # zcsi:members
    mark: Mark = None             # zcsi:moving
    newer: int = 0                # the epoch of newer= in zcsi:owner
    lost: tuple = ()              # the nodes of lost= in zcsi:owner
    marks: tuple = ()             # the nodes with a bookmark, which are known to have a whole copy
    partial: Partial = None
    split: tuple = None           # the data of a clone that is to be a copy (node/owner/split.c)
    diverged: frozenset = frozenset()
    device: str = ""              # a zvol's device; HIDDEN with volmode=none, which copies inherit
    # Gone with the power.
    up: bool = True
    mounted: int = NOT
    confirmed: bool = False       # boot= in zcsi:owner is the boot of the host
    # Gone with the process.
    move: Move = None
    take: Take = None
    ended: int = 0                # the epoch of a move whose target has said that it has the volume
    # For invariant 3: a finished failover has rightly stated the loss of this node, which still has
    # the role that it had then.
    written_off: bool = False


class Statement(NamedTuple):
    """Failover by a person, who states that nodes are lost. Its call may come at any time."""
    epoch: int
    target: int
    lost: tuple
    data: tuple                   # the data of the target when the person looked
    true: bool                    # the lost nodes were off, and none of them has booted since


class World(NamedTuple):
    nodes: tuple
    writes: int = 0               # number of acknowledged writes
    powers: int = 0               # number of power losses of hosts
    statements: tuple = ()
    terms: tuple = ()             # the epoch and the node of each primary that ever was

    def put(self, me, **fields):
        nodes = self.nodes
        return self._replace(nodes=nodes[:me] + (nodes[me]._replace(**fields),) + nodes[me + 1:])


class Bounds(NamedTuple):
    """The limits of a search: a world has at most this many of each."""
    writes: int = 1
    epoch: int = 3                # the highest epoch
    marks: int = 2                # last snapshots of moves in the data of a copy
    powers: int = 0               # power losses of hosts
    statements: int = 0           # failovers
    lost: int = 1                 # nodes that a failover may name
    copies: int = 2               # at the start; with 1, the third node is no member
    joins: int = 0                # 1: a node may become a member
    zvol: int = 0                 # 1: the volume has a device
    kills: int = 1                # 0: no process is killed, no stream is cut, no move is cancelled


def start(bounds):
    """Return the first world: n1 is the confirmed owner, bounds.copies others have a copy."""
    members = NODES[:bounds.copies + 1]
    devices = (SHOWN, HIDDEN) if bounds.zvol else ("", "")
    owner = Node("primary", 1, members=members, marks=members[1:], confirmed=True,
                 device=devices[0])
    copy = Node("replica", 1, members=members, device=devices[1])
    third = copy if bounds.copies == 2 else Node(device=devices[1])
    return World((owner, copy, third), terms=((1, 0),))


def state_of(node):
    """Return the state of a node's copy, one of those of the table."""
    if node.place == "primary":
        return SUPERSEDED if node.newer else MOVING if node.move else PRIMARY
    if node.place == "replica":
        return DEMOTED if is_marked(node) else REPLICA
    return RECEIVING if node.partial else NONE


def is_marked(node):
    """Return True if the record of a move counts (place_marked in node/move/place.c)."""
    return node.mark is not None and node.mark.epoch == node.epoch + 1


def seen(node):
    """Return the highest epoch that the node has recorded."""
    return max(node.epoch, node.newer)


def is_prefix(short, long):
    return long[:len(short)] == short


def writes(data):
    return tuple(part for part in data if part > 0)


def snapshot(epoch, to):
    """Return the part of data that stands for the last snapshot of a move."""
    return -(epoch * 10 + to + 1)


def is_covered(data, other):
    """Return True if nothing was written that the other one lacks."""
    return not writes(data[len(common(data, other)):])


def common(one, other):
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return one[:length]


def age(data):
    """Return a key that is higher for a later snapshot."""
    written = writes(data)
    return (written[-1] % 100 + 1 if written else 0, len(data))


def named(nodes):
    return ",".join(f"n{node + 1}" for node in nodes)


def data_text(data):
    return "".join(f" w{part % 100 + 1}" if part > 0 else " @" for part in data) or " -"


def node_text(node):
    """Return a short text about a node, such as "primary 2 [w1 w2] mounted"."""
    words = [state_of(node)]
    if node.epoch:
        words.append(str(node.epoch))
    if node.place:
        words.append(f"[{data_text(node.data)[1:]}]")
    if node.accepted is not None:
        words.append(f"accepted=n{node.accepted + 1}")
    if node.mark:
        words.append(f"moving=n{node.mark.to + 1}:{node.mark.epoch}")
    if node.newer:
        words.append(f"newer={node.newer}")
    if node.lost:
        words.append(f"lost={named(node.lost)}")
    if node.partial:
        words.append(f"partial[{data_text(node.partial.data)[1:]}]")
    words += [f"diverged[{data_text(data)[1:]}]" for data in sorted(node.diverged)]
    words += ["mounted"] if node.mounted == STAGED else []
    words += ["mounted elsewhere"] if node.mounted == ELSEWHERE else []
    words += ["hidden"] if node.place == "primary" and node.device == HIDDEN else []
    words += ["unconfirmed"] if node.place == "primary" and not node.confirmed else []
    words += ["OFF"] if not node.up else []
    return " ".join(words)
