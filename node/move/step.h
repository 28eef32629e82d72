/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOVE_STEP_H
#define ZCSI_NODE_MOVE_STEP_H

/*
 * The next step of a move at the node that gives the volume up. It follows from the pool and the
 * answers of the other node, so a zcsi-node that was killed goes on with the same step. Pure.
 */

#include <stdbool.h>

#include "node/move/place.h"

struct move_view {
	enum place_role role;     /* on this host */
	enum place_device device; /* on this host */
	bool cancelled;           /* the volume is to stay here, unless it was given up */
	bool marked;              /* a snapshot has the record of this move */
	bool ends;     /* the record is on the newest snapshot, and no data was written since */
	bool arrived;  /* the other node has the last snapshot, and could take the volume */
	bool promoted; /* the other node has the volume */
};

enum move_step {
	MOVE_MARK,    /* take the last snapshot, with the record */
	MOVE_SEND,    /* send that snapshot, and ask the other node if it could take the volume */
	MOVE_HIDE,    /* take the device of a zvol away, which ZFS does only if it is not open */
	MOVE_GIVE_UP, /* prove that the volume is not in use, and make it a copy */
	MOVE_PROMOTE, /* ask the other node to take the volume */
	MOVE_SHOW,    /* give the device back */
	MOVE_UNMARK,  /* remove the record of the move */
	MOVE_END,     /* nothing is left to do */
	MOVE_PERSON,  /* an operator has to look */
};

enum move_step move_next(const struct move_view *view);

#endif
