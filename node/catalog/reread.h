/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_REREAD_H
#define ZCSI_NODE_CATALOG_REREAD_H

/* Reading single names of the pool. Called with the catalog's mutex. */

#include "node/catalog/journal.h"

/*
 * Read the parent and these names, and update the inventory. Releases the mutex while zfs runs.
 * Returns 0, or -1 with the problem of the pool.
 */
int read_names(struct catalog *catalog, struct target *targets, size_t n, struct error *err);

#endif
