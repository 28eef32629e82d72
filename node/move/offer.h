/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOVE_OFFER_H
#define ZCSI_NODE_MOVE_OFFER_H

#include "node/move/depart.h"
#include "node/move/place.h"

/*
 * Call Promote of the other node; place: of the volume here, with the record of the move. check:
 * only ask whether it could take the volume, and let it reserve the space. Returns 0, or -1 with
 * its *err. Blocks for up to a minute. Threads of the mover only.
 */
int offer_volume(struct depart *depart, const struct place *place, bool check, struct error *err);

#endif
