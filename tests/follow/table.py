# SPDX-License-Identifier: MPL-2.0
"""The transition table of a copy: each step that zcsi-node takes, in which state of the copy, after
which checks, by which command, and the states that the copy may be in afterwards.

A row is one command. Its guards are checked immediately before the command. From one row to the
next nothing is kept but what is on disk and what the last fields of world.Node say, which the end
of the process forgets. So a process may be killed between any two rows, and each call may be lost,
repeated or late.

A zfs that outlives its zcsi-node is not in the table: it keeps the lock of node/zfs/lock_file.c, so
the next zcsi-node waits for it."""
from typing import NamedTuple

# States of a copy, as its place and its properties say (world.state_of). MOVING is a volume that a
# move has closed, which the process alone knows. DEMOTED is a copy with a mark that counts.
NONE, RECEIVING, REPLICA, DEMOTED = "none", "receiving", "replica", "demoted"
PRIMARY, MOVING, SUPERSEDED = "primary", "moving", "superseded"
COPIES = (REPLICA, DEMOTED)


class Row(NamedTuple):
    step: str
    state: tuple    # the states of the copy in which the step may be taken
    asked: str      # the side that has to answer: "node", "nodes" (any number), "statement", or ""
    guards: tuple   # keys of GUARDS
    command: str    # pg is POOL/PARENT/pg, _replica/pg is POOL/PARENT/_replica/pg
    after: tuple    # the states that the copy may be in afterwards


GUARDS = {
    "confirmed": "zcsi:owner has the boot of this host",
    "unused": "no mount namespace has the volume mounted, and no process has its device open",
    "member": "peer is a member as recorded here",
    "no member": "peer is no member as recorded here",
    "counts": "peer is not among the lost nodes of zcsi:owner",
    "does not count": "peer is among the lost nodes of zcsi:owner",
    "goes on": "the move was not cancelled, and none of its steps failed",
    "stays": "the move was cancelled, or a step failed",
    "marked": "the newest mark is for the target, and to the epoch after that of the volume",
    "not marked": "it is not",
    "ends": "the snapshot with the mark is the newest, and nothing was written after it",
    "stays or does not end": "one of the two guards above does not hold",
    "shown": "the volume has a device, which volmode=none would take away",
    "not shown": "it has none",
    "hidden": "the volume is without its device",
    "not hidden": "it is not",
    "goes on or not hidden": "one of the two guards holds",
    "not learned": "the target has not said in this process that it has the volume",
    "not arrived": "the target has not said in this process that it could take the volume",
    "arrived": "the target has said so",
    "could take": "peer is the target, its newest snapshot is the one with the mark, and it could "
                  "take the volume",
    "given up": "peer's volume is a copy",
    "for us": "the mark of peer's copy counts, and names this node",
    "unwritten": "nothing was written to peer's copy after the snapshot with the mark",
    "whole": "no part of a stream is here",
    "same data": "the newest snapshot is the one with the mark",
    "epoch new": "the epoch here is not above that of the mark, and this node has not given the "
                 "volume up at it",
    "free": "no call runs that makes the copy the volume",
    "unlocked": "no stream to the copy runs, and no failover to it",
    "answered": "the former owner was asked by the call that runs, which is a move",
    "recorded": "the call that runs has set zcsi:epoch",
    "target has it": "peer is the node of the mark, and has the volume at its epoch or a later one",
    "target had it": "the target has said so in this process",
    "epoch far above": "the epoch is above the one here by EPOCH_FAILOVER or more",
    "as looked at": "the newest snapshot is the one that the person saw",
    "asks us": "peer runs a failover, and this node is a member that is not declared lost",
    "epoch free": "the epoch of the failover is above the one here, or the copy is promised to "
                  "peer at it",
    "not newer": "peer has the newest snapshot of the copy, or the copy is promised to it at this "
                 "epoch",
    "all accepted": "each member that is not declared lost has answered the failover that runs",
    "owner": "peer has the volume, and knows of no later owner",
    "owner confirmed": "zcsi:owner of peer has the boot of its host",
    "counts there": "this node is not among the lost nodes of zcsi:owner of peer",
    "epoch not lower": "peer's epoch is not below the one here",
    "epoch not passed": "peer's epoch is not below that of newer= here",
    "member of owner": "this node is a member as recorded at peer, and not among its lost nodes",
    "base": "the newest snapshot here is one of peer's, by its guid",
    "whole copy": "peer has a copy, whose newest snapshot is one of ours",
    "later owner": "peer knows of a later epoch than this node does",
    "no later owner": "no member that answered knows of one",
    "majority": "so many have answered that no other node can have taken the volume over "
                "(ownership_is_majority)",
    "nothing of its own": "peer has all data that is here",
    "own data": "there is data here that peer has not",
    "split": "the clone is made",
    "epoch taken": "the epoch here is that of newer= or a later one",
    "epoch not taken": "it is not",
}

RECEIVE = "zfs receive -s -u -o zcsi:epoch=E -o zcsi:members=M _replica/pg"
TAKE = "zfs rename _replica/pg pg"

TABLE = (
    # NodeStageVolume mounts the volume for a workload.
    Row("stage", (PRIMARY,), "", ("confirmed", "not hidden"), "mount pg", (PRIMARY,)),

    # A push from the owner to a copy. The last one of a move is a push too.
    Row("receive", (NONE, RECEIVING, REPLICA, DEMOTED), "node",
        ("free", "unlocked", "owner", "owner confirmed", "epoch not lower", "member of owner",
         "base"),
        f"{RECEIVE}: begins", (RECEIVING, REPLICA, DEMOTED)),
    Row("receive ends", (RECEIVING, REPLICA, DEMOTED), "node", (), f"{RECEIVE}: ends", COPIES),
    Row("bookmark", (PRIMARY, MOVING), "node", ("confirmed", "member", "counts", "whole copy"),
        "zfs bookmark pg@_repl-TIME pg#_repl-PEER", (PRIMARY, MOVING)),
    Row("count again", (PRIMARY,), "node", ("confirmed", "member", "does not count"),
        "zfs set zcsi:owner=boot=BOOT pg", (PRIMARY,)),
    Row("take in", (PRIMARY,), "node", ("confirmed", "no member"), "zfs set zcsi:members=M pg",
        (PRIMARY,)),

    # Planned move: the node that gives the volume up (node/move/depart.c).
    # It also proves before `close` that the volume is unused, so that it takes no snapshot in vain;
    # no data depends on that.
    Row("close", (PRIMARY,), "node", ("confirmed", "member", "counts"),
        "refuse the volume from now on", (MOVING,)),
    Row("mark", (MOVING,), "", ("goes on", "not marked"),
        "zfs snapshot -o zcsi:moving=TARGET:E+1 pg@_repl-TIME", (MOVING,)),
    Row("send", (MOVING,), "node", ("goes on", "marked", "ends", "not arrived", "could take"),
        "Promote of the target, which only checks", (MOVING,)),
    Row("hide", (MOVING,), "", ("goes on", "marked", "ends", "arrived", "shown"),
        "zfs set volmode=none pg", (MOVING,)),
    Row("give up", (MOVING,), "", ("goes on", "marked", "ends", "arrived", "not shown", "unused"),
        "zfs rename pg _replica/pg", (DEMOTED,)),
    Row("show", (MOVING,), "", ("stays", "hidden"), "zfs inherit volmode pg", (MOVING,)),
    Row("unmark", (MOVING,), "", ("marked", "stays or does not end", "goes on or not hidden"),
        "zfs inherit zcsi:moving pg@_repl-TIME", (MOVING,)),
    Row("open", (MOVING,), "", ("stays", "not marked", "not hidden"),
        "refuse the volume no more", (PRIMARY,)),
    Row("learn", (DEMOTED,), "node", ("not learned", "ends", "target has it"),
        "Promote of the target", (DEMOTED,)),
    Row("unmark copy", (DEMOTED,), "", ("target had it",), "zfs set zcsi:epoch=E+1 _replica/pg",
        (REPLICA,)),

    # Planned move: the node that takes it (node/move/promote.c).
    Row("ask", COPIES, "node",
        ("free", "member", "epoch new", "whole", "unused", "given up", "for us", "unwritten",
         "same data"), "GetMove of the former owner", COPIES),
    Row("set epoch", COPIES, "", ("answered",), "zfs set zcsi:epoch=E+1 zcsi:owner=boot=BOOT "
        "_replica/pg", (REPLICA,)),
    Row("promote", (REPLICA,), "", ("answered", "recorded"), TAKE, (PRIMARY,)),
    Row("finish", (PRIMARY,), "", ("hidden",), "zfs inherit volmode pg", (PRIMARY,)),

    # Failover (node/owner/failover.c, node/owner/accept.c).
    Row("fail over", COPIES, "statement",
        ("free", "unlocked", "epoch far above", "as looked at", "unused"),
        "zfs receive -A _replica/pg", COPIES),
    Row("accept", (RECEIVING, REPLICA, DEMOTED, NONE), "node",
        ("free", "unlocked", "asks us", "epoch free", "not newer"),
        "zfs set zcsi:accepted=PEER:E zcsi:epoch=E _replica/pg", (RECEIVING, REPLICA, NONE)),
    Row("accept own", COPIES, "", ("all accepted",), "zfs set zcsi:accepted=SELF:E zcsi:epoch=E "
        "zcsi:owner=boot=BOOT,lost=NODE _replica/pg", (REPLICA,)),
    Row("promote after loss", (REPLICA,), "", ("all accepted", "recorded"), TAKE, (PRIMARY,)),

    # The start of a host, and the return of a lost one (node/owner/outcome.c, node/owner/aside.c).
    Row("confirm", (PRIMARY,), "nodes", ("no later owner", "majority"),
        "zfs set zcsi:owner=boot=BOOT pg", (PRIMARY,)),
    Row("supersede", (PRIMARY, SUPERSEDED), "node", ("member", "later owner"),
        "zfs set zcsi:owner=newer=NODE:E' zcsi:published=- pg", (SUPERSEDED,)),
    Row("take the epoch", (SUPERSEDED,), "node",
        ("owner", "owner confirmed", "counts there", "epoch not passed", "unused",
         "nothing of its own", "epoch not taken"), "zfs set zcsi:epoch=E' pg", (SUPERSEDED,)),
    Row("step down", (SUPERSEDED,), "node",
        ("owner", "owner confirmed", "counts there", "epoch not passed", "unused",
         "nothing of its own", "epoch taken"), "zfs rename pg _replica/pg", (REPLICA,)),
    Row("split", (SUPERSEDED,), "node",
        ("owner", "owner confirmed", "counts there", "epoch not passed", "unused", "own data"),
        "zfs clone -o zcsi:epoch=E' pg@base _replica/pg", (SUPERSEDED,)),
    Row("put aside", (SUPERSEDED,), "node",
        ("owner", "owner confirmed", "counts there", "epoch not passed", "unused", "own data",
         "split"),
        "zfs rename pg _diverged/pg-E; zfs promote _replica/pg", (REPLICA,)),
)


def without(step, *guards, table=TABLE):
    """Return the table with a planted error: a step does not check these guards."""
    assert any(row.step == step and set(guards) <= set(row.guards) for row in table)
    return tuple(row._replace(guards=tuple(guard for guard in row.guards if guard not in guards))
                 if row.step == step else row for row in table)
