/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_THREAD_H
#define ZCSI_NODE_CATALOG_THREAD_H

/* The catalog's thread, and the states that it gives the catalog. */

#include "node/catalog/catalog_inside.h"

/* The start function of the catalog's thread; arg is the catalog. */
void *catalog_run(void *catalog);

/*
 * Make all calls fail with this problem because a zfs is hung, until it has ended and the whole
 * pool was read again.
 */
void catalog_suspend(void *catalog, const char *problem);

/* The functions below are called with the mutex. */

/* Set the state and the problem text, and log them if they changed. */
void catalog_set_state(struct catalog *catalog, enum catalog_state state, const char *problem);
/* Replace the inventory by *fresh, read since the mark; *fresh becomes the old inventory. */
void catalog_take_over(struct catalog *catalog, size_t mark, const struct listing *listing,
		       struct inventory *fresh);

#endif
