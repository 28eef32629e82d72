/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_EXPORT_EXPORTS_INSIDE_H
#define ZCSI_NODE_EXPORT_EXPORTS_INSIDE_H

/* The exports as a backend sees them (node/export/backend.h). */

#include "node/export/table.h"
#include "node/host/node.h"

/*
 * Visit every volume of the catalog with the rows that it should have; the rows live in the arena.
 * Returns -1 when not all volumes were seen.
 */
int exports_each(struct arena *arena, const struct node *node,
		 void (*visit)(void *arg, const struct dataset *dataset,
			       const struct export_table *rows),
		 void *arg);
/* Log that a healing failed. It is repeated after the next reading of the pool. */
void exports_warn(const char *dataset, const struct error *err);

#endif
