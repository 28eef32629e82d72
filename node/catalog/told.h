/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_TOLD_H
#define ZCSI_NODE_CATALOG_TOLD_H

/* The listener that is told of each change of the inventory of a catalog, or of its state. */

struct catalog;

struct told {
	void (*fn)(void *arg); /* NULL: nobody */
	void *arg;
};

/* Set who is told. fn runs with the catalog locked, on any thread: it may only post a task. */
void catalog_tell(struct catalog *catalog, const struct told *told);
/* Tell of a change. Call it with the catalog's mutex. */
void catalog_changed(const struct catalog *catalog);

#endif
