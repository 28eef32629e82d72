/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_STREAM_ROUNDS_H
#define ZCSI_NODE_STREAM_ROUNDS_H

/*
 * A thread that works in rounds, with pauses between. The first round begins when all volumes of
 * this host are known, and which of them move.
 */

#include <stdbool.h>

#include "common/error.h"
#include "node/host/node.h"
#include "transport/loop.h"

struct rounds;

/*
 * A pause of a thread that has nothing to do: ten minutes, or until ten seconds after a change of
 * the catalog.
 */
#define ROUNDS_IDLE 0

struct rounds_work {
	const char *what; /* "the thread for scheduled snapshots", for an error text */
	/*
	 * Work one round, on the thread. asked: true in the first round, and after rounds_soon was
	 * called. Returns the seconds until the next round, or ROUNDS_IDLE.
	 */
	int (*round)(struct rounds *rounds, void *arg, bool asked);
	void *arg;
	int first_s; /* seconds before the first round, unless it is asked for sooner */
};

/*
 * Start the thread. The node, with a catalog, and the loop outlive it; *work is copied. Returns 0,
 * or -1 with *err; call rounds_stop then too.
 */
int rounds_start(struct rounds **ret, const struct node *node, struct loop *loop,
		 const struct rounds_work *work, struct error *err);
/* Stop the thread, run the loop until it has ended, and free the rounds, which may be NULL. */
void rounds_stop(struct rounds *rounds);
/* Begin the next round as soon as the present one has ended; returns at once. Any thread. */
void rounds_soon(struct rounds *rounds);
/* Returns true if the round is to end early. Any thread. */
bool rounds_stopping(struct rounds *rounds);

#endif
