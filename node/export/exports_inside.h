/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_EXPORT_EXPORTS_INSIDE_H
#define ZCSI_NODE_EXPORT_EXPORTS_INSIDE_H

/* Functions of exports.c for the backends (node/export/backend.h). */

#include "node/export/table.h"
#include "node/host/node.h"

/*
 * Call `fn` for every volume of the catalog, with the rows that it should have in the table of
 * exports; the rows live in the arena. Returns 0, or -1 if not all volumes were visited.
 */
int exports_each(struct arena *arena, const struct node *node,
		 void (*fn)(void *arg, const struct dataset *dataset,
			    const struct export_table *rows),
		 void *arg);
/* Log that exports_heal cannot set the exports of a dataset. The next scan repeats it. */
void exports_warn(const char *dataset, const struct error *err);

#endif
