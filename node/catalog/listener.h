/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_LISTENER_H
#define ZCSI_NODE_CATALOG_LISTENER_H

/* Listeners for changes of the inventory of a catalog, or of its state. */

#include <stdatomic.h>

#include "transport/loop.h"

struct catalog;

/* A listener, a member of the structure to which the changes matter. All members are private. */
struct catalog_listener {
	struct catalog_listener *next;
	struct loop *loop;
	struct loop_task task;
	atomic_bool posted;
	void (*fn)(struct catalog_listener *listener);
};

/*
 * Add a listener: call fn on the loop's thread after each change, once for several changes that
 * come together. The catalog is not locked during fn.
 */
void catalog_listen(struct catalog *catalog, struct catalog_listener *listener, struct loop *loop,
		    void (*fn)(struct catalog_listener *listener));
/* Remove a listener. If the loop runs, fn may still be called once. */
void catalog_unlisten(struct catalog *catalog, struct catalog_listener *listener);
/* Notify all listeners of a change. Call it with the catalog's mutex. */
void catalog_changed(const struct catalog *catalog);

#endif
