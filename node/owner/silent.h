/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_SILENT_H
#define ZCSI_NODE_OWNER_SILENT_H

#include "node/host/node.h"

/*
 * Check that a node which was declared lost does not answer, or that it says itself that it does
 * not use the volume. That a node does not answer is remembered for half a minute, because many
 * volumes are taken over at once. Blocks for 10 seconds at most before it is known. Any worker
 * thread. Returns 0, or -1 with ERR_FAILED_PRECONDITION.
 */
int silent_check(const struct node *node, struct arena *arena, const char *id, const char *lineage,
		 const char *lost, struct error *err);

#endif
