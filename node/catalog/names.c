/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The hashes of all names in the catalog.
 *
 * Invariant: the list has every name that a lookup of this catalog would find.
 */
#include "node/catalog/names.h"

#include <stdlib.h>

#include "common/volume/name.h"
#include "node/catalog/catalog_inside.h"

static int ascending(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

static void add(struct name_list *list, enum name_kind kind, const char *text)
{
	list->hashes[list->n++] = name_hash(kind, text);
}

static void drop_doubles(struct name_list *list)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		if (!n || list->hashes[n - 1] != list->hashes[i])
			list->hashes[n++] = list->hashes[i];
	list->n = n;
}

int catalog_names(struct catalog *catalog, int64_t deadline, struct arena *arena,
		  struct name_list *ret, struct error *err)
{
	scoped_lock(&catalog->mutex);
	const struct index *datasets = &catalog->inventory.datasets;
	const struct index *snapshots = &catalog->inventory.snapshots;

	if (catalog_ready(catalog, deadline, err) < 0)
		return -1;
	*ret = (struct name_list){.version = catalog->names};
	ret->hashes =
		arena_alloc(arena, (datasets->n + 2 * snapshots->n + 1) * sizeof(*ret->hashes));
	for (size_t i = 0; i < datasets->n; i++)
		add(ret, NAME_VOLUME, ((struct dataset *)datasets->rows[i])->id);
	for (size_t i = 0; i < snapshots->n; i++) {
		const struct snapshot *row = snapshots->rows[i];
		add(ret, NAME_SNAPSHOT_ID, row->id);
		if (*row->group)
			add(ret, NAME_GROUP, row->group);
		else if (*row->name)
			add(ret, NAME_SNAPSHOT, row->name);
	}
	qsort(ret->hashes, ret->n, sizeof(*ret->hashes), ascending);
	drop_doubles(ret);
	return 0;
}
