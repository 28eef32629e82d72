/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_EXPORT_EXPORTFS_H
#define ZCSI_NODE_EXPORT_EXPORTFS_H

/*
 * The host's NFS server, as exportfs(8) and its files have it. One change at a time is the caller's
 * to see to.
 */

#include "common/error.h"
#include "node/export/table.h"

/* Returns true if the NFS server runs. */
bool exportfs_serves(void);
/* Returns the kernel's table of exports. In the arena. */
struct export_table exportfs_told(struct arena *arena);
/*
 * Returns the exports below this parent that the server adds again at each of its starts. In the
 * arena.
 */
struct export_table exportfs_recorded(struct arena *arena, const char *parent);

/*
 * A path is exported so and not otherwise, by one program for each row that is not yet so. What was
 * asked of exportfs is seen in its table.
 */
int exportfs_set(struct arena *arena, const char *parent, const char *path,
		 const struct export_table *wanted, struct error *err);

#endif
