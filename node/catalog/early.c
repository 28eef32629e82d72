/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The states of the catalog before it is ready.
 *
 * Invariant: a volume never seems to be without snapshots before these were read. Until then it has
 * DATASET_UNCOUNTED of them, and a lookup reads it again with its snapshots. If that fails, the
 * volume counts as one with snapshots, which is never destroyed at once. Deleted volumes are not
 * known before the whole pool was read.
 */
#include "node/catalog/early.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "node/catalog/reread.h"
#include "node/catalog/state.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

static bool is_early(const struct catalog *catalog)
{
	return catalog->state == CATALOG_READING || catalog->state == CATALOG_VOLUMES;
}

/* Read the parent alone, after which single volumes can be found, unless that was done before. */
static int read_parent(struct catalog *catalog, uint64_t guid, bool *ret_first, struct error *err)
{
	auto_free char *problem = NULL;
	scoped_lock(&catalog->mutex);

	*ret_first = catalog->state == CATALOG_LOADING;
	if (!*ret_first)
		return 0;
	if (read_names(catalog, NULL, 0, err) < 0)
		return -1;
	if (asprintf(&problem, CATALOG_LOADING_TEXT, catalog->parent) < 0)
		abort();
	catalog->pool_guid = guid;
	if (!catalog->hung)
		catalog_set_state(catalog, CATALOG_READING, problem);
	return 0;
}

/* Replace the inventory by the listing of all volumes. */
static void take_volumes(struct catalog *catalog, size_t mark, struct listing *listing)
{
	struct inventory fresh;

	for (size_t i = 0; i < listing->n_datasets; i++)
		listing->datasets[i]->snapshots = DATASET_UNCOUNTED;
	inventory_init(&fresh);
	inventory_fill(&fresh, catalog->parent, listing);
	{
		scoped_lock(&catalog->mutex);
		catalog_take_over(catalog, mark, listing, &fresh);
		if (!catalog->hung)
			catalog_set_state(catalog, CATALOG_VOLUMES, catalog->problem);
		pthread_cond_broadcast(&catalog->changed);
	}
	inventory_fini(&fresh);
}

int early_read(struct catalog *catalog, size_t mark, uint64_t guid, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct listing listing = {0};
	bool first;

	if (read_parent(catalog, guid, &first, err) < 0)
		return -1;
	if (!first || !zfs_is_the_kernels())
		return 0;
	if (zfs_list_children(&arena, catalog->parent, &listing, err) < 0)
		return -1;
	take_volumes(catalog, mark, &listing);
	free(listing.text);
	return 0;
}

/* Read a volume with its snapshots. Returns true if the inventory is right about it now. */
static bool read_volume(struct catalog *catalog, int64_t deadline, const char *zfs_name)
{
	struct target target = {.zfs_name = (char *)zfs_name};
	struct error ignored;

	return is_early(catalog) && now_ms() < deadline &&
	       read_names(catalog, &target, 1, &ignored) == 0 && !catalog->stopping &&
	       catalog->state != CATALOG_PROBLEM;
}

bool early_volume(struct catalog *catalog, int64_t deadline, const char *id, const char *zfs_name)
{
	const struct dataset *found = index_get(&catalog->inventory.datasets, id);
	const bool counted = found && found->snapshots != DATASET_UNCOUNTED;

	if (is_early(catalog) && (counted || (!found && catalog->state == CATALOG_VOLUMES)))
		return true;
	return read_volume(catalog, deadline, zfs_name);
}

const struct snapshot *early_snapshot(struct catalog *catalog, int64_t deadline,
				      struct arena *arena, const char *id)
{
	const struct index *snapshots = &catalog->inventory.snapshots;
	const char *at = strrchr(id, '@');

	if (!is_early(catalog) || !at)
		return NULL;
	const char *owner = arena_printf(arena, "%.*s", (int)(at - id), id);
	const char *name = dataset_name(arena, catalog->parent, owner);
	if (!index_get(snapshots, id) && !read_volume(catalog, deadline, name))
		return NULL;
	return index_get(snapshots, id);
}
