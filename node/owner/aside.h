/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_ASIDE_H
#define ZCSI_NODE_OWNER_ASIDE_H

#include "node/host/node.h"
#include "node/move/place.h"
#include "proto/copy.h"

enum aside_how {
	ASIDE_COPY, /* the new owner has all data: the volume becomes a copy */
	ASIDE_LOOK, /* ZFS counts something as written: the volume becomes a copy if nothing was */
	ASIDE_KEEP, /* only this host has some data: it is kept, below DIVERGED_FOLDER */
};

/*
 * Make way for the node that took a volume of this host over, unless something here still uses the
 * volume: then *err is ERR_FAILED_PRECONDITION. Runs programs, and asks that node. Returns 0, or -1
 * with *err; may be repeated. For a call that is keyed by the volume.
 */
int aside_step(const struct node *node, struct arena *arena, struct dataset *volume,
	       struct error *err);

/*
 * Returns what becomes of the volume; base: the guid of the newest snapshot that the other node has
 * too, or 0 if there is none. Pure.
 */
enum aside_how aside_judge(const struct place *place, uint64_t base);

#endif
