/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_DIVERGED_H
#define ZCSI_NODE_OWNER_DIVERGED_H

#include <stddef.h>

#include "common/mem.h"
#include "node/host/node.h"
#include "proto/copy.h"

struct zfs_table; /* node/zfs/zfs_table.h */

/*
 * List the volumes that were put aside, note them in node->asides, and promote copies that were
 * split off from them (split_end). Runs programs. Any thread.
 */
void diverged_look(const struct node *node);
/* Take the rows of the datasets that were put aside; a damaged one is no volume. For tests. */
DivergedVolume **diverged_parse(struct arena *arena, const char *folder,
				const struct zfs_table *table, size_t *ret_n);

#endif
