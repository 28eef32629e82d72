/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Listing snapshots, one page at a time.
 *
 * Invariant: a page begins after an id, whether that still exists or not, so a snapshot that is
 * made or destroyed between two pages does not move the others.
 */
#include <string.h>

#include "node/catalog/inventory.h"

/*
 * Returns true if the id begins like those of all snapshots of the queried volume, shortened ids
 * included; these ids are adjacent.
 */
static bool in_range(const struct snapshot_query *query, const struct snapshot *snapshot)
{
	if (!*query->dataset_id)
		return true;
	char beginning[DATASET_ID_MAX + 2];
	stpcpy(stpcpy(beginning, query->dataset_id), "@");
	return !strncmp(snapshot->id, beginning, snapshot_id_prefix(query->dataset_id));
}

static size_t range_start(const struct inventory *inventory, const struct snapshot_query *query)
{
	char beginning[DATASET_ID_MAX + 2];

	stpcpy(stpcpy(beginning, query->dataset_id), *query->dataset_id ? "@" : "");
	if (*query->dataset_id)
		beginning[snapshot_id_prefix(query->dataset_id)] = '\0';
	const char *from = strcmp(query->after, beginning) > 0 ? query->after : beginning;
	return index_from(&inventory->snapshots, from, from);
}

void inventory_page(const struct inventory *inventory, struct arena *arena,
		    const struct snapshot_query *query, struct snapshot_list *ret, bool *ret_more)
{
	const struct index *index = &inventory->snapshots;

	*ret = (struct snapshot_list){.rows = arena_alloc(arena, query->max * sizeof(*ret->rows))};
	*ret_more = false;
	if (strlen(query->dataset_id) > DATASET_ID_MAX)
		return;
	for (size_t i = range_start(inventory, query); i < index->n; i++) {
		const struct snapshot *snapshot = index->rows[i];
		if (!in_range(query, snapshot))
			break;
		if (!strcmp(snapshot->id, query->after) ||
		    (*query->dataset_id && strcmp(snapshot->dataset_id, query->dataset_id) != 0))
			continue;
		if (ret->n == query->max) {
			*ret_more = true;
			break;
		}
		ret->rows[ret->n++] = inventory_show(inventory, arena, snapshot);
	}
}
