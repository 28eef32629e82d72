/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOVE_GIVE_UP_H
#define ZCSI_NODE_MOVE_GIVE_UP_H

#include "node/move/depart.h"
#include "node/move/place.h"

/*
 * Prove that the volume is not in use, and make it a copy. Returns 0, also if the pool has changed
 * and another step is next, so the volume was left as it is, or -1 with *err:
 * ERR_FAILED_PRECONDITION if the volume is in use. After ERR_UNAVAILABLE it may still become a
 * copy. Threads of the mover only.
 */
int give_up(struct depart *depart, const struct place *place, struct error *err);

#endif
