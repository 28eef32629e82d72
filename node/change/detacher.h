/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CHANGE_DETACHER_H
#define ZCSI_NODE_CHANGE_DETACHER_H

/*
 * The thread that detaches volumes from their origins, one after the other. A zcsi-node that ends
 * gives the one that runs up. Any thread, except where said.
 */

#include "node/host/node.h"
#include "transport/loop.h"

struct detacher;

/* Start the thread. Call it on the loop's thread. node has a catalog. */
int detacher_start(struct detacher **ret, const struct node *node, struct loop *loop,
		   struct error *err);
/*
 * Interrupt what runs, and free the detacher, which may be NULL. Loop thread, when the loop does
 * not run: it runs the loop until the thread has ended.
 */
void detacher_stop(struct detacher *detacher);

/*
 * Refuse all other calls for a volume from now on (node/host/moves.h), and have it detached.
 * Returns 0, also if that was begun before, or -1 with ERR_RESOURCE_EXHAUSTED if too many wait.
 */
int detacher_begin(struct detacher *detacher, const char *id, struct error *err);

enum detacher_state {
	DETACHER_NONE, /* none was begun since the start, or it is forgotten */
	DETACHER_RUNS, /* or it waits for others */
	DETACHER_ENDED,
};

/* Returns the state of the last one of a volume. *ret_error is why it failed, ERR_OK if not. */
enum detacher_state detacher_look(struct detacher *detacher, const char *id,
				  struct error *ret_error);

#endif
