/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOVE_EARLIER_H
#define ZCSI_NODE_MOVE_EARLIER_H

/* The volumes that an earlier zcsi-node of this host was moving. */

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/mem.h"

struct earlier {
	const char *id, *to;
	/* With a damaged record `id` and `to` are NULL. leaf: the end of the dataset's name. */
	const char *leaf, *why;
};

/* Returns false if this host moves no volumes: its pool is on a server, or of zfs-fuse. */
bool earlier_may_be(void);
/*
 * *ret is the volumes that the earlier zcsi-node gave up, or may have, and that another node may
 * not have taken yet, in the arena. Runs programs. Returns 0, or -1 with *err if the pool cannot be
 * read.
 */
int earlier_read(struct arena *arena, const char *parent, struct earlier **ret, size_t *ret_n,
		 struct error *err);
/*
 * Give the zvols of this host that have copies on other nodes their devices back, which a move that
 * did not end has hidden. Runs programs. Returns 0, or -1 with *err if the pool cannot be read or
 * changed now.
 */
int earlier_show(struct arena *arena, const char *parent, struct error *err);

#endif
