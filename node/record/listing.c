/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Parsing the output of `zfs get` into a listing. zfs_rows.c finds the rows, and volume_parse.c
 * decides which of them are volumes and snapshots of zcsi.
 *
 * Invariant: each name in the output is in exactly one list; an origin, and a damaged
 * name, is also in `others`. The count of a dataset's snapshots includes those of other tools.
 */
#include "node/record/listing.h"

#include <string.h>

#include "node/record/zfs_rows.h"
#include "node/record/volume_parse.h"

/* Count a snapshot for its dataset, which is the last one parsed: zfs lists a dataset first. */
static void count_snapshot(struct listing *listing, const char *name, const char *at)
{
	struct dataset **lists[] = {listing->datasets, listing->trashed};
	const size_t counts[] = {listing->n_datasets, listing->n_trashed};
	size_t length = (size_t)(at - name);

	for (size_t i = 0; i < COUNT(lists); i++) {
		struct dataset *last = counts[i] ? lists[i][counts[i] - 1] : NULL;
		if (last && strlen(last->name) == length && !strncmp(last->name, name, length))
			last->snapshots++;
	}
}

static void add_snapshot(struct arena *arena, const char *parent, const struct zfs_row *row,
			 const char *at, struct listing *listing)
{
	bool deferred = row->defer_destroy && !strcmp(row->defer_destroy, "on");
	struct snapshot *snapshot = snapshot_parse(arena, parent, row, at);

	count_snapshot(listing, row->name, at);
	if (snapshot && !deferred && !snapshot_leaf_is_hidden(at + 1)) {
		listing->snapshots[listing->n_snapshots++] = snapshot;
		return;
	}
	listing->others[listing->n_others++] = (char *)row->name;
	if (snapshot && !deferred && snapshot_leaf_is_clone(at + 1))
		listing->origins[listing->n_origins++] = (char *)row->name;
}

static void add_row(struct arena *arena, const char *parent, const struct zfs_row *row,
		    struct listing *listing)
{
	const char *at = strchr(row->name, '@');
	bool trashed = false;

	if (row->damaged)
		listing->damaged[listing->n_damaged++] = (char *)row->name;
	if (at)
		return add_snapshot(arena, parent, row, at, listing);
	if (!strcmp(row->name, parent)) {
		listing->parent = !row->damaged;
		/* ZFS counts a reservation of the parent as available to the parent. */
		listing->reserved = zfs_row_number(row->refreservation);
		int64_t available = zfs_row_number(row->available) - listing->reserved;
		listing->available = available > 0 ? available : 0;
		if (zfs_row_is_number(row->available) && zfs_row_is_number(row->used))
			listing->capacity = listing->available + zfs_row_number(row->used);
	}
	struct dataset *dataset = volume_parse(arena, parent, row, &trashed);
	if (!dataset)
		listing->others[listing->n_others++] = (char *)row->name;
	else if (trashed)
		listing->trashed[listing->n_trashed++] = dataset;
	else
		listing->datasets[listing->n_datasets++] = dataset;
}

static struct zfs_row row_of(const struct zfs_fields *fields)
{
	struct zfs_row row = {.name = fields->name, .damaged = fields->damaged};

	for (size_t i = 1; i < fields->n; i++)
		zfs_row_set(&row, fields->values[i].property, fields->values[i].text,
			    fields->values[i].source);
	return row;
}

bool listing_parse(struct arena *arena, const char *parent, const char *properties, char *text,
		   struct listing *ret)
{
	struct zfs_fields fields;
	struct zfs_rows rows;

	zfs_rows_begin(arena, properties, text, &rows);
	fields.values = arena_alloc(arena, rows.n * sizeof(*fields.values));
	size_t most = rows.most * sizeof(void *);
	*ret = (struct listing){0};
	ret->datasets = arena_alloc(arena, most);
	ret->trashed = arena_alloc(arena, most);
	ret->snapshots = arena_alloc(arena, most);
	ret->origins = arena_alloc(arena, most);
	ret->others = arena_alloc(arena, most);
	ret->damaged = arena_alloc(arena, most);
	while (zfs_rows_next(&rows, &fields)) {
		const struct zfs_row row = row_of(&fields);
		add_row(arena, parent, &row, ret);
	}
	return zfs_rows_accepted(&rows);
}

bool listing_is_damaged(const struct listing *listing, const char *name)
{
	for (size_t i = 0; i < listing->n_damaged; i++)
		if (!strcmp(listing->damaged[i], name))
			return true;
	return false;
}
