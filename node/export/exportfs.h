/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_EXPORT_EXPORTFS_H
#define ZCSI_NODE_EXPORT_EXPORTFS_H

/*
 * The host's NFS server, as exportfs(8) and its files have it. One change at a time is the caller's
 * to see to.
 */

#include "common/error.h"
#include "node/export/table.h"

/* It runs. */
bool export_host_serves(void);
/* What exportfs has told the kernel, by anybody. */
struct export_table export_host_told(struct arena *arena);
/* What it tells it again at each start of the server, of the volumes below this parent. */
struct export_table export_host_recorded(struct arena *arena, const char *parent);

/*
 * A path is exported so and not otherwise, by one program for each row that is not yet so. What was
 * asked of exportfs is seen in its table.
 */
int export_host_set(struct arena *arena, const char *parent, const char *path,
		    const struct export_table *wanted, struct error *err);

#endif
