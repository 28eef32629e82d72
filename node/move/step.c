/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The order of the steps of a move.
 *
 * Invariant: the volume is given up only after the other node has its last snapshot, and without a
 * device, and the other node is asked to take it only after that. The record is removed while the
 * volume is here, or after the other node has it: in between only the record shows which node owns
 * the volume. A move that ends with the volume on this host has given the device back.
 */
#include "node/move/step.h"

static enum move_step next_of_primary(const struct move_view *view)
{
	/* The other node had the volume, and a failover or another move has brought it back. */
	if (view->promoted)
		return MOVE_END;
	if (view->cancelled && view->device == DEVICE_HIDDEN)
		return MOVE_SHOW;
	if (view->cancelled)
		return view->marked ? MOVE_UNMARK : MOVE_END;
	if (!view->marked)
		return MOVE_MARK;
	if (!view->ends)
		return MOVE_UNMARK;
	if (!view->arrived)
		return MOVE_SEND;
	return view->device == DEVICE_SHOWN ? MOVE_HIDE : MOVE_GIVE_UP;
}

static enum move_step next_of_copy(const struct move_view *view)
{
	if (!view->marked)
		return MOVE_END;
	if (view->promoted)
		return MOVE_UNMARK;
	return view->ends ? MOVE_PROMOTE : MOVE_PERSON;
}

enum move_step move_next(const struct move_view *view)
{
	switch (view->role) {
	case PLACE_PRIMARY:
		return next_of_primary(view);
	case PLACE_COPY:
		return next_of_copy(view);
	default:
		/* Once the other node has the volume, it may have dropped the copy on this host. */
		return view->promoted ? MOVE_END : MOVE_PERSON;
	}
}
