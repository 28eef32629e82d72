# SPDX-License-Identifier: MPL-2.0
"""The transition table of a copy: each step that zcsi-node takes, in which state of the copy, after
which checks, by which command, and the states that the copy may be in afterwards.

A row is one command. Its guards are checked under the volume's key, immediately before the command.
From one row to the next nothing is kept but what is on disk, and two answers that a process
remembers until it ends: that the target has @final (`sent`), and what the old owner promised
(`proof`). So a process may be killed between any two rows, and each call may be lost, repeated or
late.

A zfs that outlives its zcsi-node is not in the table: it keeps the lock of node/zfs/lock_file.c, so
the next zcsi-node waits for it."""
from typing import NamedTuple

# States of a copy, as its place and its properties say (world.state_of).
NONE, RECEIVING, REPLICA, DEMOTED = "none", "receiving", "replica", "demoted"
PRIMARY, MOVING, SUPERSEDED = "primary", "moving", "superseded"
COPIES = (REPLICA, DEMOTED)
OWNERS = (PRIMARY, MOVING)


class Row(NamedTuple):
    step: str
    state: tuple    # the states of the copy in which the step may be taken
    asked: str      # whose answer is needed: "node", "statement" (of a person), or "" for none
    guards: tuple   # keys of GUARDS
    command: str    # pg is POOL/PARENT/pg, _replica/pg is POOL/PARENT/_replica/pg
    after: tuple    # the states that the copy may be in afterwards


GUARDS = {
    "confirmed": "since the boot a majority of the members answered, none with a higher epoch",
    "unused": "no mount namespace has the volume mounted, and no process has its device open",
    "unwritten": "written@final is 0",
    "sent": "this process saw @final's guid as the newest one of its target",
    "arrived": "peer's newest snapshot has the guid of @final",
    "demoted": "peer's copy is below _replica",
    "promised": "peer's zcsi:moving names this node",
    "promise stands": "peer has recorded no epoch with a number as high as the one it promised",
    "proof": "this process has the old owner's answers about this epoch",
    "same guid": "the newest snapshot is the one that was promised",
    "whole": "there is no partial stream; it is not received any more, and its token is dropped",
    "epoch free": "the number is above each that is recorded or promised here; or this very epoch, "
                  "of this very node, is recorded, and nothing is promised",
    "epoch recorded": "the highest epoch that is recorded here is this one; nothing is promised",
    "not primary": "peer's copy is not a primary",
    "no failover": "peer has recorded no epoch of another node with the promised number or above",
    "all accepted": "each member with a copy that is not named lost recorded the epoch",
    "newest": "no member that accepted has newer data; compared after they accepted",
    "owner": "peer is a primary and not superseded",
    "owner confirmed": "peer is confirmed",
    "epoch not lower": "peer's epoch is not below one that is recorded here",
    "member": "peer is a member as recorded here; a single member asks nobody",
    "member of owner": "this node is a member as recorded at peer",
    "base": "the newest snapshot here is one of peer's, by its guid",
    "has a copy": "peer has a complete copy; without one it has no place to record an epoch",
    "higher epoch": "peer has recorded a number above the epoch's, or is a primary above it",
    "no higher epoch": "peer has not",
    "nothing of its own": "written@base is 0: peer has all data that is here",
    "own data": "there is data here that peer has not",
}

RECEIVE = "zfs receive -s -u -o zcsi:epoch=E -o zcsi:members=M _replica/pg"

TABLE = (
    # NodeStageVolume mounts the volume for a workload.
    Row("stage", (PRIMARY,), "", ("confirmed",), "mount pg", (PRIMARY,)),

    # A push from the owner to a copy. The final delta of a move is a push too.
    Row("receive", (NONE, RECEIVING, REPLICA, DEMOTED), "node",
        ("owner", "owner confirmed", "epoch not lower", "member of owner", "base"),
        f"{RECEIVE}: begins", (RECEIVING, REPLICA, DEMOTED)),
    Row("receive ends", (RECEIVING, REPLICA, DEMOTED), "node", (), f"{RECEIVE}: ends", (REPLICA,)),
    Row("take in", OWNERS, "node", ("not primary",), "zfs set zcsi:members=M pg", OWNERS),

    # Planned move from the owner to a peer. zcsi-node proves before `final` too that the volume is
    # unused, so that it takes no @final in vain; no data depends on that.
    Row("final", (PRIMARY,), "node", ("member",), "zfs snapshot -o zcsi:moving=PEER:E+1 pg@final",
        (MOVING,)),
    Row("send", (MOVING,), "node", ("arrived",), "GetCopy of the target", (MOVING,)),
    Row("demote", (MOVING,), "", ("sent", "unused", "unwritten"), "zfs rename pg _replica/pg",
        (DEMOTED,)),
    Row("cancel", (MOVING,), "", (), "zfs inherit zcsi:moving pg@final", (PRIMARY,)),
    Row("ask", COPIES, "node", ("demoted", "promised", "promise stands"),
        "GetCopy of the old owner", COPIES),
    Row("set epoch", COPIES, "", ("proof", "whole", "same guid", "epoch free"),
        "zfs set zcsi:epoch=E+1:SELF _replica/pg", (REPLICA,)),
    Row("promote", (REPLICA,), "", ("proof", "whole", "same guid", "epoch recorded"),
        "zfs rename _replica/pg pg", (PRIMARY,)),
    # The old owner becomes the owner again: its target gives the promise back by Accept, then the
    # old owner goes on with `set epoch` and `promote`.
    Row("take back", (DEMOTED,), "node", ("not primary", "no failover", "epoch free"),
        "Accept at the target: zfs receive -A; zfs set zcsi:epoch=E+2:SELF _replica/pg",
        (DEMOTED,)),

    # Failover. A statement has an epoch, which names the target, and asks the survivors. Its number
    # is above each that a survivor has recorded or promised.
    Row("accept", (REPLICA, DEMOTED, SUPERSEDED, NONE), "statement", ("epoch free",),
        "zfs receive -A _replica/pg; zfs set zcsi:epoch=E:TARGET zcsi:members=M _replica/pg",
        (REPLICA, SUPERSEDED, NONE)),
    Row("promote after loss", (REPLICA,), "statement",
        ("all accepted", "epoch recorded", "whole", "newest"), "zfs rename _replica/pg pg",
        (PRIMARY,)),
    # A failover that was begun and not finished has superseded a primary that is not lost.
    Row("own again", (SUPERSEDED,), "statement", ("all accepted", "epoch recorded", "newest"),
        "zfs set zcsi:epoch=E:SELF zcsi:members=M zcsi:superseded= pg", (PRIMARY,)),

    # The start of a host, and the return of a lost one.
    Row("confirm", OWNERS, "node", ("member", "has a copy", "no higher epoch"),
        "write the file in /run/zcsi", OWNERS),
    Row("supersede", OWNERS, "node", ("higher epoch",), "zfs set zcsi:superseded=E' pg",
        (SUPERSEDED,)),
    Row("step down", (SUPERSEDED,), "node",
        ("owner", "epoch not lower", "unused", "nothing of its own"), "zfs rename pg _replica/pg",
        (REPLICA,)),
    Row("put aside", (SUPERSEDED, REPLICA, DEMOTED), "node",
        ("owner", "epoch not lower", "unused", "whole", "own data"),
        "zfs snapshot pg@diverged; zfs rename pg _diverged/pg-E", (NONE,)),
    Row("clone base", (NONE,), "node", ("owner", "epoch not lower", "whole"),
        "zfs clone -o zcsi:epoch=E' _diverged/pg-E@base _replica/pg; zfs promote _replica/pg",
        (REPLICA,)),
)


def without(step, *guards, table=TABLE):
    """Return the table with a planted error: a step does not check these guards."""
    assert any(row.step == step and set(guards) <= set(row.guards) for row in table)
    return tuple(row._replace(guards=tuple(guard for guard in row.guards if guard not in guards))
                 if row.step == step else row for row in table)
