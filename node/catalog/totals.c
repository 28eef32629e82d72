/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Totals of the catalog.
 *
 * Invariant: the functions run no program and wait for nothing but the mutex, so they may be called
 * on the loop.
 */
#include "node/catalog/totals.h"

#include "node/catalog/catalog_inside.h"

static void copy_rows(const struct index *index, struct arena *arena, struct dataset_list *ret)
{
	ret->rows = arena_alloc(arena, (index->n + 1) * sizeof(*ret->rows));
	for (; ret->n < index->n; ret->n++)
		ret->rows[ret->n] = dataset_copy(arena, index->rows[ret->n]);
}

void catalog_totals(struct catalog *catalog, struct arena *arena, size_t max,
		    struct catalog_totals *ret)
{
	scoped_lock(&catalog->mutex);
	const struct inventory *inventory = &catalog->inventory;
	const struct index *volumes = &inventory->datasets;

	*ret = (struct catalog_totals){.usable = catalog->state == CATALOG_READY,
				       .read = catalog->read,
				       .available = catalog->available,
				       .capacity = catalog->capacity,
				       .n_volumes = volumes->n,
				       .n_trashed = inventory->trashed.n,
				       .n_snapshots = inventory->snapshots.n};
	for (size_t i = 0; i < volumes->n; i++) {
		const struct dataset *dataset = volumes->rows[i];
		ret->size += dataset->size;
		ret->used += dataset->used;
	}
	for (size_t i = 0; i < inventory->trashed.n; i++) {
		const struct dataset *dataset = inventory->trashed.rows[i];
		ret->trashed_used += dataset->used;
	}
	if (volumes->n <= max)
		copy_rows(volumes, arena, &ret->volumes);
}

void catalog_each(struct catalog *catalog, void (*fn)(const struct dataset *dataset, void *arg),
		  void *arg)
{
	scoped_lock(&catalog->mutex);
	const struct index *volumes = &catalog->inventory.datasets;

	for (size_t i = 0; i < volumes->n; i++)
		fn(volumes->rows[i], arg);
}
