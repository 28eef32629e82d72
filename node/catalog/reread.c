/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Reading the pool by name: names that were changed, and a look at one name.
 *
 * Invariant: a dataset comes with its snapshots. One that was unknown is read again with all of
 * them before either is put in; one that is gone takes them with it. A listing does not count for a
 * name that was changed since the reading began.
 */
#include <stdlib.h>
#include <string.h>

#include "node/catalog/catalog_inside.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_read.h"

#define BATCH_MAX 64 /* names in one program */

static struct dataset *dataset_among(struct dataset *const *rows, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(rows[i]->name, name))
			return rows[i];
	return NULL;
}

static struct dataset *dataset_in(const struct listing *listing, const char *name)
{
	struct dataset *found = dataset_among(listing->datasets, listing->n_datasets, name);

	return found ? found : dataset_among(listing->trashed, listing->n_trashed, name);
}

static struct snapshot *snapshot_in(const struct listing *listing, const char *name)
{
	for (size_t i = 0; i < listing->n_snapshots; i++)
		if (!strcmp(listing->snapshots[i]->zfs_name, name))
			return listing->snapshots[i];
	return NULL;
}

/* A reading, and the changes made since it began. */
struct word {
	struct catalog *catalog;
	size_t mark, until;
	const struct listing *listing;
};

/* Record the state of a name: the dataset or snapshot of the change, or its absence. */
static void say(const struct word *word, const char *zfs_name, struct change change)
{
	if (change_between(word->catalog, word->mark, word->until, zfs_name)) {
		free(change.dataset);
		free(change.snapshot);
		return;
	}
	if (!change.dataset && !change.snapshot)
		change.zfs_name = mem_strdup(zfs_name);
	change_make(word->catalog, change);
}

/* Returns true if the volume was unknown, or was another one: its snapshots must be read too. */
static bool is_new(const struct catalog *catalog, const struct listing *listing, const char *name)
{
	const struct dataset *dataset = dataset_in(listing, name);
	const struct dataset *known = inventory_dataset(&catalog->inventory, name);

	return dataset && (!known || strcmp(known->id, dataset->id) != 0);
}

static void take_name(const struct word *word, const char *name)
{
	const struct dataset *dataset = dataset_in(word->listing, name);
	const struct dataset *known = inventory_dataset(&word->catalog->inventory, name);
	const struct snapshot *snapshot = snapshot_in(word->listing, name);
	struct change change = {0};

	if (dataset) {
		change.dataset = dataset_dup(dataset);
		/* How many it has was not asked. */
		change.dataset->snapshots = known ? known->snapshots : 0;
	} else if (snapshot) {
		change.snapshot = snapshot_dup(snapshot);
	}
	say(word, name, change);
}

/* Take the snapshots first: the row of a trashed volume counts them. */
static void take_snapshots(const struct word *word, struct arena *arena,
			   const struct dataset *dataset)
{
	struct index told = INDEX_BY(struct snapshot, zfs_name);
	struct snapshot_list known;

	for (size_t i = 0; i < word->listing->n_snapshots; i++)
		index_append(&told, word->listing->snapshots[i]);
	index_sort(&told);
	inventory_snapshots_of(&word->catalog->inventory, arena, dataset->name, &known);
	for (size_t i = 0; i < known.n; i++) {
		const struct snapshot *now = index_get(&told, known.rows[i]->zfs_name);
		if (!now || strcmp(now->id, known.rows[i]->id))
			say(word, known.rows[i]->zfs_name, (struct change){0});
	}
	say(word, dataset->name, (struct change){.dataset = dataset_dup(dataset)});
	for (size_t i = 0; i < told.n; i++) {
		const struct snapshot *row = told.rows[i];
		say(word, row->zfs_name, (struct change){.snapshot = snapshot_dup(row)});
	}
	index_fini(&told);
}

static int read_family(struct catalog *catalog, const char *name, struct error *err)
{
	struct listing listing = {0};
	auto_arena struct arena arena = {.cap = SIZE_MAX};

	size_t mark = change_mark(catalog);
	pthread_mutex_unlock(&catalog->mutex);
	int failed = zfs_read_family(&arena, catalog->parent, name, &listing, err);
	if (failed && err->code == ERR_NOT_FOUND)
		failed = 0;
	pthread_mutex_lock(&catalog->mutex);
	const struct word word = {catalog, mark, catalog->n_journal, &listing};
	const struct dataset *dataset = dataset_in(&listing, name);
	if (!failed && dataset)
		take_snapshots(&word, &arena, dataset);
	else if (!failed)
		say(&word, name, (struct change){0});
	change_unmark(catalog);
	free(listing.text);
	return failed;
}

/*
 * The parent is always asked for: without it nothing is said to be missing. What has come is put
 * in before what is gone is dropped: it may be the same under another name.
 */
static int read_batch(struct catalog *catalog, struct target *targets, size_t n, struct error *err)
{
	const char *names[BATCH_MAX];
	struct listing listing = {0};
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	size_t n_names = 0;

	for (size_t i = 0; i < n; i++)
		if (!targets[i].family && strcmp(targets[i].zfs_name, catalog->parent) != 0)
			names[n_names++] = targets[i].zfs_name;
	size_t mark = change_mark(catalog);
	pthread_mutex_unlock(&catalog->mutex);
	int failed = zfs_read(&arena, catalog->parent, names, n_names, &listing, err);
	pthread_mutex_lock(&catalog->mutex);
	for (size_t i = 0; !failed && i < n; i++) {
		targets[i].family |= is_new(catalog, &listing, targets[i].zfs_name);
		if (targets[i].family)
			failed = read_family(catalog, targets[i].zfs_name, err);
	}
	const struct word word = {catalog, mark, catalog->n_journal, &listing};
	for (size_t i = 0; !failed && i < n; i++)
		if (!targets[i].family)
			take_name(&word, targets[i].zfs_name);
	if (!failed)
		catalog->available = listing.available;
	change_unmark(catalog);
	free(listing.text);
	return failed;
}

int read_names(struct catalog *catalog, struct target *targets, size_t n, struct error *err)
{
	size_t at = 0;

	do {
		size_t batch = n - at < BATCH_MAX ? n - at : BATCH_MAX;
		if (read_batch(catalog, targets + at, batch, err) < 0)
			return -1;
		at += batch;
	} while (at < n && !catalog->stopping);
	return 0;
}

int catalog_reread(struct catalog *catalog, int64_t deadline, const char *zfs_name,
		   struct error *err)
{
	struct target target = {.zfs_name = (char *)zfs_name};
	struct error said;

	pthread_mutex_lock(&catalog->mutex);
	bool failed = catalog->hung || read_names(catalog, &target, 1, &said) < 0;
	pthread_mutex_unlock(&catalog->mutex);
	return failed ? catalog_refresh(catalog, deadline, err) : 0;
}
