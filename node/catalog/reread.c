/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Reading single names of the pool: those that were changed, and one that a caller asks for.
 *
 * Invariant: a volume and its snapshots enter and leave the inventory together. A volume that is
 * new to the inventory is read again with all its snapshots. When a volume is removed, its
 * snapshots are too. The result of a reading is dropped for a name that changed since the reading
 * began.
 */
#include <stdlib.h>
#include <string.h>

#include "node/catalog/catalog_inside.h"
#include "node/catalog/reread.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_read.h"

#define BATCH_MAX 64 /* most names that one program reads */

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

/* The result of a reading, and the part of the journal since it began. */
struct reread {
	struct catalog *catalog;
	size_t mark, until;
	const struct listing *listing;
};

/*
 * Put the state of a name that was read into the inventory: the volume or snapshot in `change`,
 * which is handed over. If `change` has neither, the name does not exist or is damaged.
 */
static void put_state(const struct reread *reread, const char *zfs_name, struct change change)
{
	if (change_between(reread->catalog, reread->mark, reread->until, zfs_name)) {
		free(change.dataset);
		free(change.snapshot);
		return;
	}
	if (!change.dataset && !change.snapshot)
		change.zfs_name = mem_strdup(zfs_name);
	change_make(reread->catalog, change);
}

/*
 * Returns true if the listing has a volume of this name, and the inventory has none or another one
 * of this name, or has not its snapshots.
 */
static bool is_new(const struct catalog *catalog, const struct listing *listing, const char *name)
{
	const struct dataset *dataset = dataset_in(listing, name);
	const struct dataset *known = inventory_dataset(&catalog->inventory, name);

	return dataset && (!known || known->snapshots == DATASET_UNCOUNTED ||
			   strcmp(known->id, dataset->id) != 0);
}

static void take_name(const struct reread *reread, const char *name)
{
	const struct dataset *dataset = dataset_in(reread->listing, name);
	const struct dataset *known = inventory_dataset(&reread->catalog->inventory, name);
	const struct snapshot *snapshot = snapshot_in(reread->listing, name);
	struct change change = {0};

	if (dataset) {
		change.dataset = dataset_dup(dataset);
		/* This reading does not include the snapshots, so keep the count. */
		change.dataset->snapshots = known ? known->snapshots : 0;
	} else if (snapshot) {
		change.snapshot = snapshot_dup(snapshot);
	} else {
		change.damaged = listing_is_damaged(reread->listing, name);
	}
	put_state(reread, name, change);
}

/*
 * Put a volume and all its snapshots into the inventory. Remove the missing snapshots first: each
 * removal counts down the volume's snapshots, and then the volume's row sets the right count.
 */
static void take_snapshots(const struct reread *reread, struct arena *arena,
			   const struct dataset *dataset)
{
	struct index listed = INDEX_BY(struct snapshot, zfs_name);
	struct snapshot_list known;

	for (size_t i = 0; i < reread->listing->n_snapshots; i++)
		index_append(&listed, reread->listing->snapshots[i]);
	index_sort(&listed);
	inventory_snapshots_of(&reread->catalog->inventory, arena, dataset->name, &known);
	for (size_t i = 0; i < known.n; i++) {
		const struct snapshot *now = index_get(&listed, known.rows[i]->zfs_name);
		if (!now || strcmp(now->id, known.rows[i]->id))
			put_state(reread, known.rows[i]->zfs_name, (struct change){0});
	}
	put_state(reread, dataset->name, (struct change){.dataset = dataset_dup(dataset)});
	for (size_t i = 0; i < listed.n; i++) {
		const struct snapshot *row = listed.rows[i];
		put_state(reread, row->zfs_name, (struct change){.snapshot = snapshot_dup(row)});
	}
	index_fini(&listed);
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
	const struct reread reread = {catalog, mark, catalog->n_journal, &listing};
	const struct dataset *dataset = dataset_in(&listing, name);
	if (!failed && dataset)
		take_snapshots(&reread, &arena, dataset);
	else if (!failed)
		put_state(&reread, name, (struct change){0});
	for (size_t i = 0; !failed && i < listing.n_damaged; i++)
		put_state(&reread, listing.damaged[i], (struct change){.damaged = true});
	change_unmark(catalog);
	free(listing.text);
	return failed;
}

/*
 * Read up to BATCH_MAX names. The parent is read with them: if it is missing, the reading fails and
 * no name is reported as missing. New volumes are put in before missing ones are removed, because a
 * new name may be a renamed volume.
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
	const struct reread reread = {catalog, mark, catalog->n_journal, &listing};
	for (size_t i = 0; !failed && i < n; i++)
		if (!targets[i].family)
			take_name(&reread, targets[i].zfs_name);
	if (!failed) {
		catalog->available = listing.available;
		catalog->reserved = listing.reserved;
		catalog->capacity = listing.capacity;
	}
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

static int reread_name(struct catalog *catalog, const char *zfs_name)
{
	struct target target = {.zfs_name = (char *)zfs_name};
	struct error ignored;
	scoped_lock(&catalog->mutex);

	return catalog->hung ? -1 : read_names(catalog, &target, 1, &ignored);
}

static bool is_damaged(struct catalog *catalog, const char *zfs_name)
{
	scoped_lock(&catalog->mutex);

	return inventory_is_damaged(&catalog->inventory, zfs_name);
}

int catalog_reread(struct catalog *catalog, int64_t deadline, const char *zfs_name,
		   struct error *err)
{
	if (reread_name(catalog, zfs_name) < 0 && catalog_refresh(catalog, deadline, err) < 0)
		return -1;
	return is_damaged(catalog, zfs_name) ? zfs_fail_damaged(zfs_name, err) : 0;
}
