/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_TOTALS_H
#define ZCSI_NODE_CATALOG_TOTALS_H

/* Totals of the catalog, for metrics. Sizes are bytes. Any thread. */

#include "node/catalog/catalog.h"

struct catalog_totals {
	bool usable;       /* the pool can be read */
	int64_t read;      /* when all of it was read last, in seconds since 1970; 0: never */
	int64_t available; /* to a new volume */
	size_t n_volumes, n_trashed, n_snapshots;
	int64_t size, used;          /* of all volumes together */
	struct dataset_list volumes; /* in the arena; none when there are more than max */
};

void catalog_totals(struct catalog *catalog, struct arena *arena, size_t max,
		    struct catalog_totals *ret);

#endif
