# SPDX-License-Identifier: MPL-2.0
"""A cluster of three nodes with one volume: what is on the disks, what is mounted, what each
process remembers, and what a person stated.

Data is the tuple of the writes in it, in their order, so a snapshot is a prefix and stands for its
guid. An epoch is a number and the node whose term it is. A node records a number for one node only.
So two terms have one number only if a failover did not reach the other node, and even then the two
epochs differ, and one of them is higher."""
from typing import NamedTuple

from table import DEMOTED, MOVING, NONE, PRIMARY, RECEIVING, REPLICA, SUPERSEDED

NODES = (0, 1, 2)
NEVER = (0, 0)
# Values of Node.mounted: not mounted; at the staging path; only in another mount namespace.
NOT, STAGED, ELSEWHERE = 0, 1, 2


class Moving(NamedTuple):
    """The property zcsi:moving of @final, and the data of @final."""
    to: int
    number: int
    data: tuple


class Partial(NamedTuple):
    """A stream that is being received, or the received part of one that was cut (source is
    None)."""
    source: int
    epoch: tuple
    data: tuple
    members: tuple


class Node(NamedTuple):
    # On disk.
    place: str = ""               # "primary", "replica", or "" if there is no dataset
    epoch: tuple = NEVER
    data: tuple = ()
    members: tuple = NODES
    moving: Moving = None
    superseded: tuple = NEVER
    partial: Partial = None
    diverged: frozenset = frozenset()
    # Gone with the power.
    up: bool = True
    mounted: int = NOT
    confirmed: bool = False
    # Gone with the process.
    sent: tuple = None            # (target, data): the target's answer that it has this data
    proof: tuple = None           # (epoch, data) of the promise by which the node may be promoted
    # For invariant 3: a finished failover has rightly stated the loss of this node, which still has
    # the role that it had then.
    written_off: bool = False


class Statement(NamedTuple):
    """Failover by a person, who states that nodes are lost. Its messages may come at any time."""
    epoch: tuple                  # the epoch that it makes; its node is the one to promote
    lost: tuple
    survivors: tuple              # the other nodes that have a copy, and so can record an epoch
    true: bool                    # the lost nodes were off, and none of them has booted since
    accepted: tuple = ()          # survivors whose answer arrived


class World(NamedTuple):
    nodes: tuple
    writes: int = 0               # number of acknowledged writes
    powers: int = 0               # number of power losses of hosts
    statements: tuple = ()
    terms: tuple = ()             # the epochs of all primaries that ever were

    def put(self, me, **fields):
        nodes = self.nodes
        return self._replace(nodes=nodes[:me] + (nodes[me]._replace(**fields),) + nodes[me + 1:])


class Bounds(NamedTuple):
    """The limits of a search: a world has at most this many of each."""
    writes: int = 1
    number: int = 3               # the highest number of an epoch
    powers: int = 0               # power losses of hosts
    statements: int = 0           # failovers
    lost: int = 1                 # nodes that a failover may name
    copies: int = 2               # replicas at the start; with 1, the third node has no copy yet


def start(bounds):
    """Return the first world: n1 is the confirmed owner, bounds.copies others are replicas."""
    owner, copy = Node("primary", (1, 0), confirmed=True), Node("replica", (1, 0))
    return World((owner, copy, copy if bounds.copies == 2 else Node()), terms=((1, 0),))


def state_of(node):
    """Return the state of a node's copy, one of those of the table, from what is on its disk."""
    if node.place == "primary":
        return SUPERSEDED if node.superseded > NEVER else MOVING if node.moving else PRIMARY
    if node.place == "replica":
        return DEMOTED if promised(node) else REPLICA
    return RECEIVING if node.partial else NONE


def seen(node):
    """Return the highest epoch that the node has recorded."""
    return max(node.epoch, node.superseded)


def promised(node):
    """Return the number that zcsi:moving promises, or 0 if the node has since recorded an epoch
    with that number or a higher one."""
    return node.moving.number if node.moving and node.moving.number > seen(node)[0] else 0


def known(node):
    """Return the highest number of an epoch that the node has recorded or promised."""
    return max(seen(node)[0], promised(node))


def is_above(peer, owner):
    """Return True if a peer has recorded an epoch above that of a primary. If the numbers are
    equal, only another primary counts, and the higher node is above."""
    return seen(peer)[0] > owner.epoch[0] or peer.place == "primary" and peer.epoch > owner.epoch


def is_prefix(short, long):
    return long[:len(short)] == short


def common(one, other):
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return one[:length]


def age(data):
    """Return a key that is higher for newer data: the term of the last write, then their number."""
    return (data[-1] // 100 if data else 0, len(data))


def named(nodes):
    return ",".join(f"n{node + 1}" for node in nodes)


def epoch_text(epoch):
    return f"{epoch[0]}:n{epoch[1] + 1}"


def data_text(data):
    return "".join(f" w{write % 100 + 1}" for write in data) or " -"


def node_text(node):
    """Return a short text about a node, such as "primary 2:n2 [w1 w2] mounted"."""
    words = [state_of(node)]
    if node.epoch > NEVER:
        words.append(epoch_text(node.epoch))
    if node.place:
        words.append(f"[{data_text(node.data)[1:]}]")
    if node.moving:
        words.append(f"moving={epoch_text((node.moving.number, node.moving.to))}")
    if node.superseded > NEVER:
        words.append(f"superseded={epoch_text(node.superseded)}")
    if node.partial:
        words.append(f"partial={epoch_text(node.partial.epoch)}"
                     f"[{data_text(node.partial.data)[1:]}]")
    words += [f"diverged[{data_text(data)[1:]}]" for data in sorted(node.diverged)]
    words += ["mounted"] if node.mounted == STAGED else []
    words += ["mounted elsewhere"] if node.mounted == ELSEWHERE else []
    words += ["unconfirmed"] if node.place == "primary" and not node.confirmed else []
    words += ["OFF"] if not node.up else []
    return " ".join(words)
