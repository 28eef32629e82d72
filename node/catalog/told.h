/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_TOLD_H
#define ZCSI_NODE_CATALOG_TOLD_H

/* Listeners that are told of changes of the inventory of a catalog, or of its state. */

#include <stdatomic.h>

#include "transport/loop.h"

struct catalog;

/* A listener, embedded in the structure that it is for. All members are private. */
struct told {
	struct told *next;
	struct loop *loop;
	struct loop_task task;
	atomic_bool posted;
	void (*fn)(struct told *told);
};

/*
 * Call fn on the loop's thread after each change; once for several that come together. The catalog
 * is not locked then.
 */
void catalog_tell(struct catalog *catalog, struct told *told, struct loop *loop,
		  void (*fn)(struct told *told));
/* Tell it no more. fn may be called once again, if the loop runs. */
void catalog_tell_not(struct catalog *catalog, struct told *told);
/* Tell of a change. Call it with the catalog's mutex. */
void catalog_changed(const struct catalog *catalog);

#endif
