/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_HERALD_H
#define ZCSI_NODE_OWNER_HERALD_H

#include "node/stream/rounds.h"

/*
 * Start the herald. Its thread calls Hear of the nodes with copies of this host's volumes, twice a
 * minute: the request says how far each copy is, and the response whether another node took a
 * volume over (beat.h). Returns like rounds_start.
 */
int herald_start(struct rounds **ret, const struct node *node, struct loop *loop,
		 struct error *err);

#endif
