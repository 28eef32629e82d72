/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_HERALD_H
#define ZCSI_NODE_OWNER_HERALD_H

/*
 * The herald tells the nodes with copies of this host's volumes, twice a minute, that the owner is
 * there and how far their copies are, and hears from them whether another node took a volume over.
 * It has a thread of its own.
 */

#include "common/error.h"
#include "node/host/node.h"
#include "transport/loop.h"

struct herald;

/*
 * Start the thread. The node, with a catalog, and the loop outlive the herald. Returns 0, or -1
 * with *err; call herald_stop then too.
 */
int herald_start(struct herald **ret, const struct node *node, struct loop *loop,
		 struct error *err);
/* Stop the thread, run the loop until it has ended, and free the herald, which may be NULL. */
void herald_stop(struct herald *herald);

#endif
