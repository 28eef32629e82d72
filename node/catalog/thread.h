/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_THREAD_H
#define ZCSI_NODE_CATALOG_THREAD_H

/* The catalog's thread. */

#include "node/catalog/catalog_inside.h"

/* The start function of the catalog's thread; arg is the catalog. */
void *catalog_run(void *catalog);

/*
 * Make all calls fail with this problem because a zfs is hung, until it has ended and the whole
 * pool was read again.
 */
void catalog_suspend(void *catalog, const char *problem);

#endif
