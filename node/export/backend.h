/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_EXPORT_BACKEND_H
#define ZCSI_NODE_EXPORT_BACKEND_H

/*
 * How a volume is mounted and given by NFS where its pool is: on this host, or on a server over
 * ssh. For node/export/exports.c alone, which has one change run at a time.
 */

#include "node/export/table.h"
#include "node/host/node.h"

struct export_backend {
	/* Returns the property mountpoint of a new volume; in the arena. */
	const char *(*mountpoint)(struct arena *arena, const char *dataset);
	/* ERR_FAILED_PRECONDITION: nothing can be given, and what to do about it. */
	int (*check)(const struct node *node, struct error *err);
	/* Mounted and given so, and not otherwise; with no rows neither. */
	int (*apply)(struct arena *arena, const struct node *node, const struct dataset *dataset,
		     const struct export_table *wanted, struct error *err);
	/* The same for all volumes. What fails is logged. */
	void (*heal)(struct arena *arena, const struct node *node);
};

extern const struct export_backend export_local, export_over_ssh;

#endif
