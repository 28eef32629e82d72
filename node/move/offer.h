/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOVE_OFFER_H
#define ZCSI_NODE_MOVE_OFFER_H

#include "node/move/depart.h"
#include "node/move/place.h"

/*
 * Ask the other node to take the volume, whose place has the record of the move; or, if check,
 * whether it could, for which it reserves the space. Returns 0, or -1 with its *err. Blocks for up
 * to a minute. Threads of the mover only.
 */
int offer_volume(struct depart *depart, const struct place *place, bool check, struct error *err);

#endif
