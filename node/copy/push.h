/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_PUSH_H
#define ZCSI_NODE_COPY_PUSH_H

/*
 * Bringing one copy of a volume up to date: a snapshot, and a stream from the newest snapshot that
 * both hosts have. Every step may be repeated after a crash. Runs programs and waits for another
 * node, for hours: on threads of the pusher only.
 */

#include <stdbool.h>

#include "node/peers/peers.h"
#include "node/copy/transfer.h"
#include "node/host/node.h"
#include "node/record/members.h"

struct push {
	const struct node *node;
	struct loop *loop;
	const struct dataset *volume;
	struct members members;  /* of the volume */
	struct push_rules rules; /* of the volume; if it is paused, push_run sends nothing */
	const char *to;          /* the node of the copy */
	bool fresh;              /* take a snapshot, however young the newest one is */
	bool busy;               /* set by push_run if it failed because the copies are locked */
	bool frozen;             /* take no snapshot: the newest one of ours is the last to send */
	bool look;               /* after a failure, see how much the volume keeps for its copies */
	int64_t idle;            /* for how many seconds nothing was sent to the copy */
	struct arena *arena;
	struct transfer_progress *progress;

	/* Private to push.c and part.c from here on, but for transfer_cancel. */
	struct transfer transfer;
	ReceiveHeader *header;
	const char *flags;
	CopyState *copy; /* as it is now; NULL: there is none */
	int64_t available;
	const char *key;  /* that push_lock has locked */
	int64_t taken;    /* before our own snapshot was taken; 0: none was */
	uint64_t resumed; /* the snapshot to which an interrupted stream leads; 0: none */
};

/*
 * Push, unless the volume is paused. *ret_synced is a time, in microseconds since 1970, and the
 * copy has all that was written before; 0 if this is not known. It is also set after a failure.
 * Returns 0, or -1 with *err, which says what a person has to do if another try cannot help.
 */
int push_run(struct push *push, int64_t *ret_synced, struct error *err);
/*
 * *ret is a time, in microseconds since 1970, and the copy has all that was written before, as the
 * bookmark on this host shows; 0 if there is none. Runs one program. Returns 0, or -1 with *err.
 */
int push_known(struct push *push, int64_t *ret, struct error *err);
/*
 * Lock the copies of the volume: one push of a volume runs at a time, and none while a copy of it
 * is dropped. A bookmark is made of a snapshot that another push would destroy. Returns 0, or -1
 * with ERR_ABORTED after some seconds.
 */
int push_lock(struct push *push, struct error *err);
void push_unlock(struct push *push);
/* As push_run, for a caller that has locked the copies. */
int push_run_locked(struct push *push, int64_t *ret_synced, struct error *err);
/* Returns the name of a snapshot of ours, which is taken at a time in microseconds since 1970. */
char *push_snapshot_name(struct arena *arena, const char *dataset, int64_t time);
/* Returns true if a push that failed has sent so much that the next one can continue it. */
bool push_has_moved(const struct push *push);
/* Destroy the copy on the other node. Returns 0, also if there is none, or -1 with *err. */
int push_drop(struct push *push, struct error *err);
/* Check that the other node can have a copy of this volume. Returns 0, or -1 with *err. */
int push_check(struct push *push, struct error *err);

#endif
