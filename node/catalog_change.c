/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Changes of the catalog, and the journal that keeps older readings from undoing them.
 *
 * Invariant: while somebody reads the pool, every change is in the journal, in order. What was
 * changed since a reading began may come out of it as it was before, so the reading's word on it
 * is not taken: a reading of all is followed by the changes since, a reading of one name gives way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "node/catalog_inside.h"

#define SETTLE_MS 1000 /* after a change, so that a burst of them costs one program */

static void apply(struct holdings *holdings, const char *parent, const struct change *change)
{
	if (change->dataset)
		holdings_put_dataset(holdings, parent, change->dataset);
	else if (change->snapshot)
		holdings_put_snapshot(holdings, parent, change->snapshot);
	else
		holdings_drop(holdings, change->id, change->zfs_name);
}

static void change_free(struct change *change)
{
	free(change->dataset);
	free(change->snapshot);
	free(change->id);
	free(change->zfs_name);
}

static const char *name_of(const struct change *change)
{
	if (change->dataset)
		return change->dataset->name;
	return change->snapshot ? change->snapshot->zfs_name : change->zfs_name;
}

void change_make(struct catalog *catalog, struct change change)
{
	apply(&catalog->holdings, catalog->parent, &change);
	if (!catalog->readers) {
		change_free(&change);
		return;
	}
	catalog->journal =
		mem_resize(catalog->journal, (catalog->n_journal + 1) * sizeof(*catalog->journal));
	catalog->journal[catalog->n_journal++] = change;
}

size_t change_mark(struct catalog *catalog)
{
	catalog->readers++;
	return catalog->n_journal;
}

void change_unmark(struct catalog *catalog)
{
	if (--catalog->readers)
		return;
	for (size_t i = 0; i < catalog->n_journal; i++)
		change_free(&catalog->journal[i]);
	catalog->n_journal = 0;
}

bool change_since(const struct catalog *catalog, size_t mark, const char *zfs_name)
{
	for (size_t i = mark; i < catalog->n_journal; i++)
		if (!strcmp(name_of(&catalog->journal[i]), zfs_name))
			return true;
	return false;
}

void change_replay(const struct catalog *catalog, size_t mark, struct holdings *holdings)
{
	for (size_t i = mark; i < catalog->n_journal; i++)
		apply(holdings, catalog->parent, &catalog->journal[i]);
}

void change_stale(struct catalog *catalog, const char *id, const char *zfs_name)
{
	for (size_t i = 0; i < catalog->n_stale; i++)
		if (!strcmp(catalog->stale[i].zfs_name, zfs_name))
			return;
	if (!catalog->n_stale) {
		catalog->stale_due = now_ms() + SETTLE_MS;
		pthread_cond_broadcast(&catalog->changed);
	}
	catalog->stale =
		mem_resize(catalog->stale, (catalog->n_stale + 1) * sizeof(*catalog->stale));
	catalog->stale[catalog->n_stale++] = (struct target){mem_strdup(id), mem_strdup(zfs_name)};
}

void change_fini(struct catalog *catalog)
{
	for (size_t i = 0; i < catalog->n_stale; i++) {
		free(catalog->stale[i].id);
		free(catalog->stale[i].zfs_name);
	}
	for (size_t i = 0; i < catalog->n_claims; i++)
		free(catalog->claims[i]);
	free(catalog->stale);
	free(catalog->journal);
	free(catalog->claims);
}

void catalog_put(struct catalog *catalog, const struct dataset *dataset)
{
	auto_unlock pthread_mutex_t *held = lock_take(&catalog->mutex);

	change_make(catalog, (struct change){.dataset = dataset_dup(dataset)});
	change_stale(catalog, dataset->id, dataset->name);
}

void catalog_put_snapshot(struct catalog *catalog, const struct snapshot *snapshot)
{
	auto_unlock pthread_mutex_t *held = lock_take(&catalog->mutex);

	change_make(catalog, (struct change){.snapshot = snapshot_dup(snapshot)});
	change_stale(catalog, snapshot->id, snapshot->zfs_name);
}

/* The parent is read again too, for what is available. */
void catalog_drop(struct catalog *catalog, const char *id, const char *zfs_name)
{
	auto_unlock pthread_mutex_t *held = lock_take(&catalog->mutex);

	change_make(catalog,
		    (struct change){.id = mem_strdup(id), .zfs_name = mem_strdup(zfs_name)});
	change_stale(catalog, id, zfs_name);
}

void catalog_snapshots_of(struct catalog *catalog, struct arena *arena,
			  const struct dataset *dataset, struct snapshot_list *ret)
{
	auto_unlock pthread_mutex_t *held = lock_take(&catalog->mutex);
	struct snapshot_query query = {.after = "",
				       .dataset_id = dataset->id,
				       .group = "",
				       .max = catalog->holdings.snapshots.n + 1};
	struct snapshot_list list;
	bool more;

	holdings_page(&catalog->holdings, arena, &query, &list, &more);
	*ret = (struct snapshot_list){.rows = list.rows};
	for (size_t i = 0; i < list.n; i++) {
		if (snapshot_is_of(list.rows[i], dataset->name))
			ret->rows[ret->n++] = list.rows[i];
	}
}

void catalog_move(struct catalog *catalog, const struct dataset *dataset, const char *name,
		  const struct snapshot_list *snapshots)
{
	struct dataset moved = *dataset;
	auto_unlock pthread_mutex_t *held = lock_take(&catalog->mutex);

	moved.name = (char *)name;
	change_make(catalog, (struct change){.dataset = dataset_dup(&moved)});
	for (size_t i = 0; i < snapshots->n; i++) {
		struct snapshot row = *snapshots->rows[i];
		auto_free char *zfs_name = NULL;
		change_make(catalog, (struct change){.id = mem_strdup(row.id),
						     .zfs_name = mem_strdup(row.zfs_name)});
		if (asprintf(&zfs_name, "%s@%s", name, snapshot_leaf(&row)) < 0)
			abort();
		row.zfs_name = zfs_name;
		change_make(catalog, (struct change){.snapshot = snapshot_dup(&row)});
	}
	change_make(catalog, (struct change){.id = mem_strdup(dataset->id),
					     .zfs_name = mem_strdup(dataset->name)});
	change_stale(catalog, dataset->id, dataset->name);
	change_stale(catalog, dataset->id, name);
}

static size_t claim_of(const struct catalog *catalog, const char *key)
{
	size_t i = 0;

	while (i < catalog->n_claims && strcmp(catalog->claims[i], key) != 0)
		i++;
	return i;
}

int catalog_claim(struct catalog *catalog, int64_t deadline, const char *key, struct error *err)
{
	auto_unlock pthread_mutex_t *held = lock_take(&catalog->mutex);

	while (claim_of(catalog, key) < catalog->n_claims)
		if (!catalog_wait(catalog, deadline))
			return fail(err, ERR_ABORTED, "another call for the same is still running");
	catalog->claims =
		mem_resize(catalog->claims, (catalog->n_claims + 1) * sizeof(*catalog->claims));
	catalog->claims[catalog->n_claims++] = mem_strdup(key);
	return 0;
}

void catalog_release(struct catalog *catalog, const char *key)
{
	auto_unlock pthread_mutex_t *held = lock_take(&catalog->mutex);
	size_t at = claim_of(catalog, key);

	free(catalog->claims[at]);
	catalog->claims[at] = catalog->claims[--catalog->n_claims];
	pthread_cond_broadcast(&catalog->changed);
}
