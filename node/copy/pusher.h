/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_PUSHER_H
#define ZCSI_NODE_COPY_PUSHER_H

/*
 * The threads that keep the copies of this host's volumes up to date, and destroy those of deleted
 * volumes. The nodes with copies are recorded in zcsi:members (node/record/members.h); the pusher's
 * own state may be lost. Any thread, unless a function says otherwise.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"
#include "node/host/node.h"

struct pusher;

/* Start the threads. Call it on the loop's thread. node has a catalog and peers. */
int pusher_start(struct pusher **ret, const struct node *node, struct loop *loop,
		 struct error *err);
/*
 * End all pushes, kill each zfs that reads the pool, and free the pusher, which may be NULL. Loop
 * thread, when the loop does not run: it runs the loop until the threads have ended.
 */
void pusher_stop(struct pusher *pusher);

/* Push a volume to all its copies now, with a new snapshot. Returns at once. */
void pusher_push(struct pusher *pusher, const char *id);

/* Compare the orders with the catalog now, and end pushes of volumes that are paused. */
void pusher_look(struct pusher *pusher);
/*
 * Report that another thread has pushed to the copy of the dataset on a node. The pusher then
 * destroys no snapshot that the copy may have, until the node has answered again.
 */
void pusher_forget(struct pusher *pusher, const char *dataset, const char *to);
/* Returns true if the pushes of a volume are paused. */
bool pusher_is_paused(struct pusher *pusher, const char *id);

/* The state of a copy, as its owner knows it. Times are microseconds since 1970; 0: not yet. */
struct pushed {
	const char *id, *to;
	bool running;      /* a push runs */
	bool deleted;      /* the volume is deleted, and its copy is to be destroyed */
	bool owed;         /* the node was replaced, and its old copy is to be destroyed */
	bool known;        /* false: the copy's bookmark was not looked up yet */
	bool paused;       /* nothing is sent until the volume is resumed */
	int64_t every;     /* how far the copy may be behind, in seconds */
	int64_t synced;    /* the copy has all that was written before this time */
	int64_t unsent;    /* bytes that the copy lacked when last measured; -1: not known */
	int64_t failed;    /* when the last push failed; 0: it did not */
	const char *error; /* why the last push failed; "" if it did not */
	/* The progress of the push that runs; 0 before its first stream, and if none runs. */
	uint64_t sent, total; /* bytes; total is an estimate */
	int64_t sending_ms;   /* since its first stream began */
};

/* Returns the copies of all volumes, in the order of their ids, in the arena. */
struct pushed *pusher_list(struct pusher *pusher, struct arena *arena, size_t *ret_n);
/* Returns the copies of one dataset, in the arena. Waits for no program and no other node. */
struct pushed *pusher_copies(struct pusher *pusher, struct arena *arena, const char *dataset,
			     size_t *ret_n);

#endif
