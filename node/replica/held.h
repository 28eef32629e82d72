/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_REPLICA_HELD_H
#define ZCSI_NODE_REPLICA_HELD_H

/* All copies that this host has of volumes of other hosts. */

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/mem.h"
#include "proto/copy.h"

struct zfs_table; /* node/zfs/zfs_table.h */

struct held {
	const char *id; /* the volume's */
	CopyState *copy;
};

struct held_list {
	struct held *rows; /* in order of id */
	size_t n;
};

/* Returns true if this host can have copies: not with zfs-fuse, or a pool on another server. */
bool held_possible(void);
/*
 * Read the copies, in the arena, each with its newest snapshot if `snapshots` is set, else without.
 * Runs one program. Any worker thread. Returns 0, or -1 with *err.
 */
int held_read(struct arena *arena, const char *parent, bool snapshots, struct held_list *ret,
	      struct error *err);
/* Take the rows of the copies. For tests. */
void held_parse(struct arena *arena, const char *parent, const struct zfs_table *table,
		struct held_list *ret);
/* Returns the copy of a volume, or NULL. */
const CopyState *held_find(const struct held_list *list, const char *id);

#endif
