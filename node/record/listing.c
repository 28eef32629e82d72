/* SPDX-License-Identifier: MPL-2.0 */
/*
 * From the lines of `zfs get` to the volumes, the snapshots, and what is neither.
 *
 * Invariant: each name that was told is in exactly one of the lists, and the snapshots of a dataset
 * are counted whoever made them.
 */
#include "node/record/listing.h"

#include <string.h>

#include "node/record/zfs_row.h"
#include "node/record/volume_parse.h"

/* All snapshots of a dataset come right after it. */
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

static void finish_snapshot(struct arena *arena, const char *parent, const struct zfs_row *row,
			    const char *at, struct listing *listing)
{
	bool deferred = row->deferred && !strcmp(row->deferred, "on");
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

static void finish(struct arena *arena, const char *parent, const struct zfs_row *row,
		   struct listing *listing)
{
	const char *at = row->name ? strchr(row->name, '@') : NULL;
	bool trashed = false;

	if (!row->name)
		return;
	if (at)
		return finish_snapshot(arena, parent, row, at, listing);
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

/* How often the name changes from one line to the next. */
static size_t count_entries(const char *text)
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
	size_t most = count_entries(text);
	struct zfs_row row = {0};
	char *state, *property, *value, *source;

	*ret = (struct listing){0};
	ret->datasets = arena_alloc(arena, most * sizeof(*ret->datasets));
	ret->trashed = arena_alloc(arena, most * sizeof(*ret->trashed));
	ret->snapshots = arena_alloc(arena, most * sizeof(*ret->snapshots));
	ret->origins = arena_alloc(arena, most * sizeof(*ret->origins));
	ret->others = arena_alloc(arena, most * sizeof(*ret->others));
	/* All lines of one dataset come together. */
	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		if (!zfs_row_cut(line, &property, &value, &source))
			continue;
		if (!row.name || strcmp(row.name, line)) {
			finish(arena, parent, &row, ret);
			row = (struct zfs_row){.name = line};
		}
		zfs_row_take(&row, property, value, source);
	}
	finish(arena, parent, &row, ret);
}
