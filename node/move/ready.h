/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOVE_READY_H
#define ZCSI_NODE_MOVE_READY_H

#include "node/host/node.h"

/*
 * Check that a volume of this host can move to a node now, as far as this host knows: that node has
 * a copy, and nothing uses the volume. Runs programs. Returns 0, or -1 with *err. For a call that
 * is keyed by the volume.
 */
int ready_check(const struct node *node, struct arena *arena, const char *id, const char *to,
		struct error *err);

#endif
