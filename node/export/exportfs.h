/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_EXPORT_EXPORTFS_H
#define ZCSI_NODE_EXPORT_EXPORTFS_H

/*
 * The exports of this host's NFS server, by exportfs(8) and its files. The caller ensures that one
 * change runs at a time. Results live in the arena.
 */

#include "common/error.h"
#include "node/export/table.h"

/* Returns true if the NFS server runs. */
bool exportfs_serves(void);
/*
 * Read the active exports, from /var/lib/nfs/etab, those of other tools included. Returns 0, or -1
 * with *err; a file that does not exist is an empty table.
 */
int exportfs_active(struct arena *arena, struct export_table *ret, struct error *err);
/* Read the exports below the parent that are in the file for the next start of the server. */
int exportfs_recorded(struct arena *arena, const char *parent, struct export_table *ret,
		      struct error *err);

/*
 * Export a path to exactly the clients in `wanted`, and record that for the next start of the
 * server. Runs exportfs for each row that changes, and checks its effect in the table of active
 * exports. Returns 0, or -1 with *err.
 */
int exportfs_set(struct arena *arena, const char *parent, const char *path,
		 const struct export_table *wanted, struct error *err);

#endif
