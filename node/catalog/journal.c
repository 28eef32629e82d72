/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The journal, which prevents a reading from undoing later changes, and the list of stale names.
 *
 * Invariant: while the pool is read, every change is appended to the journal. The listing may show
 * the old state of a name that changed after the reading began. So the journal is replayed on the
 * result of a reading of the whole pool, and the result of reading single names is dropped for a
 * name in the journal.
 */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "node/catalog/catalog_inside.h"

#define SETTLE_MS 1000 /* delay after a change, so that one zfs reads a whole burst */
#define STALE_MAX 1024 /* most stale names; `zpool events` begins with fewer old events */

static void apply(struct inventory *inventory, const char *parent, const struct change *change)
{
	if (change->dataset)
		inventory_put_dataset(inventory, parent, change->dataset);
	else if (change->snapshot)
		inventory_put_snapshot(inventory, parent, change->snapshot);
	else if (change->damaged)
		inventory_damage(inventory, change->zfs_name);
	else
		inventory_drop(inventory, change->zfs_name);
}

static void change_free(struct change *change)
{
	free(change->dataset);
	free(change->snapshot);
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
	apply(&catalog->inventory, catalog->parent, &change);
	catalog->names++;
	catalog_changed(catalog);
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

bool change_between(const struct catalog *catalog, size_t mark, size_t until, const char *zfs_name)
{
	for (size_t i = mark; i < until; i++)
		if (!strcmp(name_of(&catalog->journal[i]), zfs_name))
			return true;
	return false;
}

void change_replay(const struct catalog *catalog, size_t mark, struct inventory *inventory)
{
	for (size_t i = mark; i < catalog->n_journal; i++)
		apply(inventory, catalog->parent, &catalog->journal[i]);
}

void change_stale(struct catalog *catalog, const char *zfs_name, bool family)
{
	for (size_t i = 0; i < catalog->n_stale; i++) {
		if (strcmp(catalog->stale[i].zfs_name, zfs_name))
			continue;
		catalog->stale[i].family |= family;
		return;
	}
	if (catalog->n_stale == STALE_MAX) {
		change_forget(catalog);
		catalog->lost = true;
	}
	if (!catalog->n_stale && catalog->stale_due > now_ms() + SETTLE_MS) {
		catalog->stale_due = now_ms() + SETTLE_MS;
		pthread_cond_broadcast(&catalog->changed);
	}
	catalog->stale =
		mem_resize(catalog->stale, (catalog->n_stale + 1) * sizeof(*catalog->stale));
	catalog->stale[catalog->n_stale++] = (struct target){mem_strdup(zfs_name), family};
}

void change_forget(struct catalog *catalog)
{
	for (size_t i = 0; i < catalog->n_stale; i++)
		free(catalog->stale[i].zfs_name);
	catalog->n_stale = 0;
}

void change_fini(struct catalog *catalog)
{
	change_forget(catalog);
	for (size_t i = 0; i < catalog->n_claims; i++)
		free(catalog->claims[i]);
	free(catalog->stale);
	free(catalog->journal);
	free(catalog->claims);
}
