/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Changes of the catalog: those that the agent makes, and those that ZFS reports.
 *
 * Invariant: a change by the agent is visible at once, with the values that the agent set. Other
 * values (guids, sizes) and changes by others are read again soon, and one zfs reads all names of a
 * burst.
 */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "node/catalog/catalog_inside.h"

#define MAKE_ROOM_MS 10000 /* how long a call waits for the trash to be emptied */

void catalog_put(struct catalog *catalog, const struct dataset *dataset)
{
	scoped_lock(&catalog->mutex);

	change_make(catalog, (struct change){.dataset = dataset_dup(dataset)});
	change_stale(catalog, dataset->name, false);
}

void catalog_put_snapshot(struct catalog *catalog, const struct snapshot *snapshot)
{
	scoped_lock(&catalog->mutex);

	change_make(catalog, (struct change){.snapshot = snapshot_dup(snapshot)});
	change_stale(catalog, snapshot->zfs_name, false);
}

void catalog_drop(struct catalog *catalog, const char *zfs_name)
{
	scoped_lock(&catalog->mutex);

	change_make(catalog, (struct change){.zfs_name = mem_strdup(zfs_name)});
	change_stale(catalog, zfs_name, false);
}

void catalog_snapshots_of(struct catalog *catalog, struct arena *arena,
			  const struct dataset *dataset, struct snapshot_list *ret)
{
	scoped_lock(&catalog->mutex);

	inventory_snapshots_of(&catalog->inventory, arena, dataset->name, ret);
}

/* Returns the record of a snapshot after its dataset got another id and name, in the arena. */
static struct snapshot moved_snapshot(struct arena *arena, const struct snapshot *snapshot,
				      const char *id, const char *name)
{
	struct snapshot row = *snapshot;

	row.id = snapshot_id(arena, id, snapshot_leaf(snapshot));
	row.dataset_id = (char *)id;
	row.zfs_name = arena_printf(arena, "%s@%s", name, snapshot_leaf(snapshot));
	return row;
}

void catalog_rename(struct catalog *catalog, const struct dataset *dataset, const char *id,
		    const char *name, const struct snapshot_list *snapshots)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct dataset moved = *dataset;
	scoped_lock(&catalog->mutex);

	moved.id = (char *)id;
	moved.name = (char *)name;
	change_make(catalog, (struct change){.dataset = dataset_dup(&moved)});
	for (size_t i = 0; i < snapshots->n; i++) {
		const struct snapshot *before = snapshots->rows[i];
		const struct snapshot row = moved_snapshot(&arena, before, id, name);
		change_make(catalog, (struct change){.zfs_name = mem_strdup(before->zfs_name)});
		change_make(catalog, (struct change){.snapshot = snapshot_dup(&row)});
	}
	change_make(catalog, (struct change){.zfs_name = mem_strdup(dataset->name)});
	change_stale(catalog, dataset->name, false);
	change_stale(catalog, name, false);
}

void catalog_move(struct catalog *catalog, const struct dataset *dataset, const char *name,
		  const struct snapshot_list *snapshots)
{
	catalog_rename(catalog, dataset, dataset->id, name, snapshots);
}

/*
 * For a snapshot of a trashed volume, mark the volume and all its snapshots, because the volume is
 * destroyed when it has no snapshot of any kind left.
 */
void catalog_mark_stale(struct catalog *catalog, const char *zfs_name)
{
	scoped_lock(&catalog->mutex);
	auto_free char *dataset = mem_strdup(zfs_name);
	bool family = dataset_is_trash(catalog->parent, zfs_name) && strchr(zfs_name, '@');

	if (family)
		*strchr(dataset, '@') = '\0';
	change_stale(catalog, dataset, family);
}

void catalog_rescan_soon(struct catalog *catalog)
{
	scoped_lock(&catalog->mutex);

	catalog->lost = true;
	pthread_cond_broadcast(&catalog->changed);
}

void catalog_follow(struct catalog *catalog, bool follows)
{
	scoped_lock(&catalog->mutex);

	catalog->follows = follows;
	catalog->lost = true;
	pthread_cond_broadcast(&catalog->changed);
}

static size_t claim_of(const struct catalog *catalog, const char *key)
{
	size_t i = 0;

	while (i < catalog->n_claims && strcmp(catalog->claims[i], key) != 0)
		i++;
	return i;
}

int catalog_lock_key(struct catalog *catalog, int64_t deadline, const char *key, struct error *err)
{
	scoped_lock(&catalog->mutex);

	while (claim_of(catalog, key) < catalog->n_claims)
		if (!catalog_wait(catalog, deadline))
			return fail(err, ERR_ABORTED,
				    "another call for the same volume or snapshot is still "
				    "running; try again");
	catalog->claims =
		mem_resize(catalog->claims, (catalog->n_claims + 1) * sizeof(*catalog->claims));
	catalog->claims[catalog->n_claims++] = mem_strdup(key);
	return 0;
}

void catalog_unlock_key(struct catalog *catalog, const char *key)
{
	scoped_lock(&catalog->mutex);
	size_t at = claim_of(catalog, key);

	free(catalog->claims[at]);
	catalog->claims[at] = catalog->claims[--catalog->n_claims];
	pthread_cond_broadcast(&catalog->changed);
}

void catalog_reap(struct catalog *catalog)
{
	scoped_lock(&catalog->mutex);

	catalog->reap_due = true;
	pthread_cond_broadcast(&catalog->changed);
}

bool catalog_make_room(struct catalog *catalog, int64_t deadline)
{
	scoped_lock(&catalog->mutex);
	const int64_t most = now_ms() + MAKE_ROOM_MS, limit = deadline < most ? deadline : most;
	const uint64_t wanted = catalog->reaps_begun + 1;
	const size_t before = catalog->inventory.trashed.n;

	if (!before)
		return false;
	catalog->full = true;
	catalog->stale_due = 0;
	pthread_cond_broadcast(&catalog->changed);
	while (catalog->reaps_done < wanted && !catalog->stopping && !catalog->hung)
		if (!catalog_wait(catalog, limit))
			break;
	return catalog->inventory.trashed.n < before;
}

bool catalog_is_stopping(struct catalog *catalog)
{
	scoped_lock(&catalog->mutex);

	return catalog->stopping;
}

int catalog_await(struct catalog *catalog, int64_t deadline, struct error *err)
{
	scoped_lock(&catalog->mutex);

	return catalog_ready(catalog, deadline, err);
}

void catalog_trashed(struct catalog *catalog, struct arena *arena, struct dataset_list *ret)
{
	scoped_lock(&catalog->mutex);
	const struct index *index = &catalog->inventory.trashed;

	ret->n = index->n;
	ret->rows = arena_alloc(arena, (index->n + 1) * sizeof(*ret->rows));
	for (size_t i = 0; i < index->n; i++)
		ret->rows[i] = dataset_copy(arena, index->rows[i]);
}

/* The list takes no more memory than it needs, because a call may ask for many ids. */
void catalog_trashed_of(struct catalog *catalog, struct arena *arena, const char *id,
			struct dataset_list *ret)
{
	scoped_lock(&catalog->mutex);
	const struct index *index = &catalog->inventory.trashed;
	size_t n = 0;

	for (size_t i = 0; i < index->n; i++)
		n += !strcmp(((const struct dataset *)index->rows[i])->id, id);
	*ret = (struct dataset_list){.rows = arena_alloc(arena, (n + 1) * sizeof(*ret->rows))};
	for (size_t i = 0; i < index->n; i++) {
		const struct dataset *row = index->rows[i];
		if (strcmp(row->id, id) == 0)
			ret->rows[ret->n++] = dataset_copy(arena, row);
	}
}

void catalog_with_members(struct catalog *catalog, struct arena *arena, struct dataset_list *ret,
			  uint64_t **ret_marks)
{
	scoped_lock(&catalog->mutex);
	const struct inventory *inventory = &catalog->inventory;
	const struct index *lists[] = {&inventory->datasets, &inventory->trashed};
	size_t most = lists[0]->n + lists[1]->n + 1;

	*ret = (struct dataset_list){.rows = arena_alloc(arena, most * sizeof(*ret->rows))};
	*ret_marks = arena_alloc(arena, most * sizeof(**ret_marks));
	for (size_t i = 0; i < COUNT(lists); i++)
		for (size_t j = 0; j < lists[i]->n; j++) {
			const struct dataset *row = lists[i]->rows[j];
			if (!*row->members)
				continue;
			(*ret_marks)[ret->n] = inventory_mark(inventory, row->name);
			ret->rows[ret->n++] = dataset_copy(arena, row);
		}
}

void catalog_scheduled(struct catalog *catalog, struct arena *arena, struct dataset_list *ret)
{
	scoped_lock(&catalog->mutex);
	const struct index *index = &catalog->inventory.datasets;

	*ret = (struct dataset_list){.rows = arena_alloc(arena, (index->n + 1) * sizeof(void *))};
	for (size_t i = 0; i < index->n; i++) {
		const struct dataset *row = index->rows[i];
		if (*row->schedule)
			ret->rows[ret->n++] = dataset_copy(arena, row);
	}
}

void catalog_renaming(struct catalog *catalog, struct arena *arena, struct dataset_list *ret)
{
	scoped_lock(&catalog->mutex);
	const struct index *index = &catalog->inventory.datasets;

	*ret = (struct dataset_list){.rows = arena_alloc(arena, (index->n + 1) * sizeof(void *))};
	for (size_t i = 0; i < index->n; i++) {
		const struct dataset *row = index->rows[i];
		if (row->renaming)
			ret->rows[ret->n++] = dataset_copy(arena, row);
	}
}

size_t catalog_take_origins(struct catalog *catalog, struct arena *arena, char ***ret)
{
	scoped_lock(&catalog->mutex);
	size_t n = catalog->n_origins;

	*ret = arena_alloc(arena, (n + 1) * sizeof(**ret));
	for (size_t i = 0; i < n; i++) {
		(*ret)[i] = arena_strdup(arena, catalog->origins[i]);
		free(catalog->origins[i]);
	}
	catalog->n_origins = 0;
	return n;
}
