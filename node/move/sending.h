/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOVE_SENDING_H
#define ZCSI_NODE_MOVE_SENDING_H

#include "node/copy/push.h"
#include "node/move/depart.h"

/* The pushes of a move. Functions return 0, or -1 with *err. Threads of the mover only. */

/* Push until a push takes less than ten seconds, while the volume can still be used. */
int sending_catch_up(struct depart *depart, struct error *err);

/* Fill in *ret, a push of the volume to a node; its texts are in the arena. Sends nothing. */
int sending_begin(struct depart *depart, struct arena *arena, const char *to, struct push *ret,
		  struct error *err);
/* Lock the copies until push_unlock. Waits for a running push of the volume, perhaps for hours. */
int sending_lock(const struct depart *depart, struct push *push, int64_t deadline,
		 struct error *err);

/* Send all that the copy on a node lacks, up to the last snapshot. The copies are locked. */
int sending_last(struct depart *depart, const char *to, struct error *err);
/*
 * Send the last snapshot to the other copies too, so that the next owner can push to them from it.
 * A copy that does not get it may need a full stream later. Failures are ignored.
 */
void sending_last_to_others(struct depart *depart, const char *dataset);

#endif
