/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_EXPORT_BACKEND_H
#define ZCSI_NODE_EXPORT_BACKEND_H

/*
 * How a volume is mounted and given by NFS where its pool is: on this host, or on a server over
 * ssh. For node/export/exports.c alone, which has one change run at a time.
 */

#include "node/export/table.h"
#include "node/host/node.h"

struct export_way {
	/* What a new volume has as its property mountpoint; in the arena. */
	const char *(*mountpoint)(struct arena *arena, const char *dataset);
	/* ERR_FAILED_PRECONDITION: nothing can be given, and what to do about it. */
	int (*check)(const struct node *node, struct error *err);
	/* Mounted and given so, and not otherwise; with no rows neither. */
	int (*apply)(struct arena *arena, const struct node *node, const struct dataset *dataset,
		     const struct export_table *wanted, struct error *err);
	/* The same for all volumes. What fails is logged. */
	void (*heal)(struct arena *arena, const struct node *node);
};

extern const struct export_way export_here, export_over_ssh;

/* Every volume of the catalog with its rows, which are in the arena. -1: not all were seen. */
int exports_each(struct arena *arena, const struct node *node,
		 void (*visit)(void *arg, const struct dataset *dataset,
			       const struct export_table *rows),
		 void *arg);
/* A healing that has failed: it is tried again after the next reading of the pool. */
void exports_warn(const char *dataset, const struct error *err);

#endif
