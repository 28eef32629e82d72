/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Parsing the output of `zfs get` into a listing. volume_parse.c decides which rows are volumes and
 * snapshots of zcsi.
 *
 * Invariant: each name in the output is in exactly one list; an origin is also in `others`. The
 * count of a dataset's snapshots includes those of other tools.
 */
#include "node/record/listing.h"

#include <string.h>

#include "node/record/zfs_row.h"
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
	const char *at = row->name ? strchr(row->name, '@') : NULL;
	bool trashed = false;

	if (!row->name)
		return;
	if (at)
		return add_snapshot(arena, parent, row, at, listing);
	if (!strcmp(row->name, parent)) {
		listing->parent = true;
		listing->available = zfs_row_number(row->available);
	}
	struct dataset *dataset = volume_parse(arena, parent, row, &trashed);
	if (!dataset)
		listing->others[listing->n_others++] = (char *)row->name;
	else if (trashed)
		listing->trashed[listing->n_trashed++] = dataset;
	else
		listing->datasets[listing->n_datasets++] = dataset;
}

/* Returns an upper bound of the rows: how often the name changes from line to line, plus one. */
static size_t count_rows(const char *text)
{
	const char *name = NULL;
	size_t n = 1, length = 0;

	for (const char *line = text; *line;) {
		if (!name || strncmp(line, name, length + 1)) {
			name = line;
			length = strcspn(line, "\t\n");
			n++;
		}
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return n;
}

void listing_parse(struct arena *arena, const char *parent, char *text, struct listing *ret)
{
	size_t most = count_rows(text);
	struct zfs_row row = {0};
	char *state, *property, *value, *source;

	*ret = (struct listing){0};
	ret->datasets = arena_alloc(arena, most * sizeof(*ret->datasets));
	ret->trashed = arena_alloc(arena, most * sizeof(*ret->trashed));
	ret->snapshots = arena_alloc(arena, most * sizeof(*ret->snapshots));
	ret->origins = arena_alloc(arena, most * sizeof(*ret->origins));
	ret->others = arena_alloc(arena, most * sizeof(*ret->others));
	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		if (!zfs_row_split(line, &property, &value, &source))
			continue;
		if (!row.name || strcmp(row.name, line)) {
			add_row(arena, parent, &row, ret);
			row = (struct zfs_row){.name = line};
		}
		zfs_row_set(&row, property, value, source);
	}
	add_row(arena, parent, &row, ret);
}
