/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_TOTALS_H
#define ZCSI_NODE_CATALOG_TOTALS_H

/* Totals of the catalog, for metrics and limits. Sizes are bytes. Any thread. */

#include "node/catalog/catalog.h"

struct catalog_totals {
	bool usable;       /* the pool is ready */
	int64_t read;      /* when the whole pool was last read, seconds since 1970; 0: never */
	int64_t available; /* bytes that a new volume could use */
	int64_t capacity;  /* bytes that all volumes use, and `available`; 0: unknown */
	size_t n_volumes, n_trashed, n_snapshots;
	int64_t size, used;          /* sums of the sizes and of the used bytes of all volumes */
	int64_t trashed_used;        /* used bytes of all deleted volumes */
	struct dataset_list volumes; /* volumes, in the arena; empty if there are more than max */
};

/* *ret is the totals, and the volumes if there are at most max. */
void catalog_totals(struct catalog *catalog, struct arena *arena, size_t max,
		    struct catalog_totals *ret);
/*
 * Call fn for each volume, without deleted ones, with the mutex of the catalog locked. So fn must
 * call no function of the catalog.
 */
void catalog_each(struct catalog *catalog, void (*fn)(const struct dataset *dataset, void *arg),
		  void *arg);

#endif
