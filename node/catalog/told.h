/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_TOLD_H
#define ZCSI_NODE_CATALOG_TOLD_H

/* Listeners for changes of the inventory of a catalog, or of its state. */

#include <stdatomic.h>

#include "transport/loop.h"

struct catalog;

/* A listener, a member of the structure to which the changes matter. All members are private. */
struct told {
	struct told *next;
	struct loop *loop;
	struct loop_task task;
	atomic_bool posted;
	void (*fn)(struct told *told);
};

/*
 * Add a listener: call fn on the loop's thread after each change, once for several changes that
 * come together. The catalog is not locked during fn.
 */
void catalog_tell(struct catalog *catalog, struct told *told, struct loop *loop,
		  void (*fn)(struct told *told));
/* Remove a listener. If the loop runs, fn may still be called once. */
void catalog_tell_not(struct catalog *catalog, struct told *told);
/* Notify all listeners of a change. Call it with the catalog's mutex. */
void catalog_changed(const struct catalog *catalog);

#endif
