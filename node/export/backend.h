/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_EXPORT_BACKEND_H
#define ZCSI_NODE_EXPORT_BACKEND_H

/*
 * The two ways to mount and export a volume where its pool is: on this host, or on a server over
 * ssh. Only node/export/exports.c calls the functions, for one change at a time. Those that return
 * int return 0, or -1 with *err. All may block.
 */

#include "node/export/table.h"
#include "node/host/node.h"

struct export_backend {
	/* Returns the value of property mountpoint for a new volume; static or in the arena. */
	const char *(*mountpoint)(struct arena *arena, const char *dataset);
	/* ERR_FAILED_PRECONDITION if volumes cannot be exported; the text says what to do. */
	int (*check)(const struct node *node, struct error *err);
	/*
	 * Mount the dataset and export it to exactly the clients in `wanted`; with no rows,
	 * withdraw the export and unmount the dataset.
	 */
	int (*apply)(struct arena *arena, const struct node *node, const struct dataset *dataset,
		     const struct export_table *wanted, struct error *err);
	/* Apply the records of all volumes in the catalog; errors are logged. */
	void (*heal)(struct arena *arena, const struct node *node);
};

extern const struct export_backend export_local, export_over_ssh;

#endif
