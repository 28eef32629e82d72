/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_PUSH_H
#define ZCSI_NODE_COPY_PUSH_H

/*
 * Bringing one copy of a volume up to date: a snapshot, and a stream from the newest one that both
 * hosts have. Every step may be repeated after a crash. Functions wait for programs and another
 * node; push_run for hours: on threads of the pusher and the mover only.
 */

#include "node/peers/peers.h"
#include "node/copy/pins.h"
#include "node/copy/transfer.h"
#include "node/host/node.h"
#include "node/record/members.h"
#include "node/record/push_rules.h"

/* The newest snapshot that was taken for copies of a volume since zcsi-node was started. */
struct push_taken {
	uint64_t guid;    /* 0: none was */
	int64_t at, time; /* just before it was taken: now_us(), and microseconds since 1970 */
};

struct push {
	const struct node *node;
	struct loop *loop;
	const struct dataset *volume;
	struct members members;  /* the volume's */
	struct push_rules rules; /* the volume's; if it is paused, push_run sends nothing */
	const char *to, *away;   /* the node of the copy; why it is not called, or NULL */
	bool frozen;             /* take no snapshot: the newest one of ours is the last to send */
	bool busy, silent;       /* set by a failure: the copies are locked; the node is silent */
	bool look;               /* call pins_limit after a failure */
	int64_t idle;            /* for how many seconds nothing was sent to the copy */
	/* Sets the next four, which other pushes change too. push_lock calls it; may be NULL. */
	void (*refresh)(struct push *push);
	int64_t wanted; /* now_us() value: send all written before; 0: a young snapshot is enough */
	struct push_taken taken; /* for any copy of the volume; updated */
	struct pins_need *needs; /* each copy's; the first is this copy's, and is updated */
	size_t n_needs;
	struct arena *arena;
	struct transfer_progress *progress;
	/* Private to push.c, part.c and plan.c from here on, except for transfer_cancel. */
	struct transfer transfer;
	ReceiveHeader *header;
	const char *flags;
	CopyState *copy;         /* as the other node reported last; NULL: there is none */
	int64_t available, rest; /* bytes: in the other pool; of an interrupted stream */
	uint64_t arrived;        /* guid of the last snapshot of this push that arrived; 0: none */
	bool refused;            /* the copy did not take a snapshot of another tool: send none */
	const char *key;         /* the catalog's key that push_lock has locked */
};

/*
 * Send all that the copy lacks, unless the volume is paused. *ret_synced is the time, in
 * microseconds since 1970, until which the copy has all that was written; 0: not known. It is set
 * after a failure too. Returns 0, or -1 with *err, which says what to do if a retry cannot help.
 */
int push_run(struct push *push, int64_t *ret_synced, struct error *err);
/*
 * *ret is a time like *ret_synced of push_run, from the copy's bookmark; 0 if there is none. Sets
 * *needs to the snapshots that the copy may need. Runs one program. Returns 0, or -1 with *err.
 */
int push_known(struct push *push, int64_t *ret, struct error *err);
/*
 * Lock the copies of the volume, of which one at a time is pushed or dropped. Returns 0, or -1 with
 * ERR_ABORTED if they are still locked after 5 seconds.
 */
int push_lock(struct push *push, struct error *err);
void push_unlock(struct push *push);
/* Call push_run for a caller that has locked the copies with push_lock. */
int push_run_locked(struct push *push, int64_t *ret_synced, struct error *err);
/* Returns true if a push that failed has sent so much that the next one can continue it. */
bool push_has_moved(const struct push *push);
/* Destroy the copy, if there is one; or check that there can be one. Returns 0, or -1 with *err. */
int push_drop(struct push *push, struct error *err);
int push_check(struct push *push, struct error *err);

#endif
