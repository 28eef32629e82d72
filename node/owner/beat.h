/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_BEAT_H
#define ZCSI_NODE_OWNER_BEAT_H

#include "node/stream/rounds.h"

/*
 * Tell all nodes with copies, hear them, and act on what they say: confirm this host as the owner
 * of a volume, or make way for another one. Blocks while nodes are silent, and ends early if the
 * rounds are stopping. With zfs-fuse, or a pool on another server, there are no copies.
 */
enum beat {
	BEAT_NONE, /* there is no volume with copies */
	BEAT_SETTLED,
	BEAT_OPEN /* a volume is still not known to be this host's, or is to make way */
} beat_all(const struct node *node, struct rounds *rounds);

#endif
