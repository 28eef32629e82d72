/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_HERALD_H
#define ZCSI_NODE_OWNER_HERALD_H

#include "node/stream/rounds.h"

/*
 * Start the herald. Its thread tells the nodes with copies of this host's volumes, twice a minute,
 * that the owner is there and how far their copies are, and hears from them whether another node
 * took a volume over (beat.h). Returns as rounds_start.
 */
int herald_start(struct rounds **ret, const struct node *node, struct loop *loop,
		 struct error *err);

#endif
