/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOVE_MOVER_H
#define ZCSI_NODE_MOVE_MOVER_H

/*
 * The moves of volumes away from this host, each on a thread of its own. A zcsi-node that starts
 * finishes those for which an earlier one has given the volume up. Any thread, except where said.
 */

#include "node/host/node.h"
#include "proto/agent.h"

struct mover;

/* Start, and look for moves to finish. Call it on the loop's thread. node has a catalog. */
int mover_start(struct mover **ret, const struct node *node, struct loop *loop, struct error *err);
/*
 * Interrupt all moves, and free the mover, which may be NULL. Loop thread, when the loop does not
 * run: it runs the loop until the threads have ended. Call it before pusher_stop.
 */
void mover_stop(struct mover *mover);

/*
 * Begin to move a volume. Returns 0, also if it moves to that node already, or -1 with
 * ERR_FAILED_PRECONDITION if it moves to another one, ERR_RESOURCE_EXHAUSTED if too many move.
 */
int mover_begin(struct mover *mover, const char *id, const char *to, struct error *err);
/* Returns true if the volume is moving to that node. */
bool mover_moves(struct mover *mover, const char *id, const char *to);
/*
 * End a move, and wait for its end until the deadline. Returns 0, also if there is none, or -1 with
 * ERR_FAILED_PRECONDITION if the volume was given up already. Not on the loop's thread.
 */
int mover_cancel(struct mover *mover, const char *id, int64_t deadline, struct error *err);
/* Returns the moves of a volume, or of all if id is "", in the arena. */
MoveState **mover_list(struct mover *mover, struct arena *arena, const char *id, size_t *ret_n);

#endif
