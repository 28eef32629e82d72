/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_BEAT_H
#define ZCSI_NODE_OWNER_BEAT_H

#include "node/stream/rounds.h"

/*
 * Call Hear of all nodes with copies of this host's volumes, and act on their answers: confirm this
 * host as the owner of a volume, or make way for another owner. Blocks while nodes do not answer,
 * and ends early if the rounds are stopping. With zfs-fuse, or a pool on another server, there are
 * no copies.
 */
enum beat {
	BEAT_NONE, /* no volume has copies */
	BEAT_SETTLED,
	BEAT_OPEN /* the owner of a volume is not known yet, or a volume is to make way */
} beat_all(const struct node *node, struct rounds *rounds);

#endif
