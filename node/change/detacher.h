/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CHANGE_DETACHER_H
#define ZCSI_NODE_CHANGE_DETACHER_H

/*
 * The thread that detaches volumes from their origins, one after the other. When zcsi-node ends, a
 * detach that runs is given up. Any thread, except where said.
 */

#include "node/host/node.h"
#include "transport/loop.h"

struct detacher;

/* Start the thread. Call it on the loop's thread. node has a catalog. */
int detacher_start(struct detacher **ret, const struct node *node, struct loop *loop,
		   struct error *err);
/*
 * Interrupt the detach that runs, and free the detacher, which may be NULL. Call it on the loop's
 * thread while the loop does not run: the function runs the loop until the detacher's thread has
 * ended.
 */
void detacher_stop(struct detacher *detacher);

/*
 * Refuse all other calls for a volume from now on (node/host/moves.h), and have it detached.
 * Returns 0, also if its detach was begun before, or -1 with ERR_RESOURCE_EXHAUSTED if too many
 * wait.
 */
int detacher_begin(struct detacher *detacher, const char *id, struct error *err);

enum detacher_state {
	DETACHER_NONE, /* no detach was begun since the start, or its end is forgotten */
	DETACHER_RUNS, /* the detach runs, or waits for others */
	DETACHER_ENDED,
};

/* Returns the state of a volume's last detach. *ret_error is why it failed; ERR_OK: it did not. */
enum detacher_state detacher_look(struct detacher *detacher, const char *id,
				  struct error *ret_error);

#endif
