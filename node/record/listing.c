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
static void count_snapshot(struct reading *reading, const char *name, const char *at)
{
	struct dataset **lists[] = {reading->datasets, reading->trashed};
	const size_t counts[] = {reading->n_datasets, reading->n_trashed};
	size_t length = (size_t)(at - name);

	for (size_t i = 0; i < COUNT(lists); i++) {
		struct dataset *last = counts[i] ? lists[i][counts[i] - 1] : NULL;
		if (last && strlen(last->name) == length && !strncmp(last->name, name, length))
			last->snapshots++;
	}
}

static void finish_snapshot(struct arena *arena, const char *parent, const struct entry *entry,
			    const char *at, struct reading *reading)
{
	bool deferred = entry->deferred && !strcmp(entry->deferred, "on");
	struct snapshot *snapshot = recognise_snapshot(arena, parent, entry, at);

	count_snapshot(reading, entry->name, at);
	if (snapshot && !deferred && !snapshot_leaf_is_hidden(at + 1)) {
		reading->snapshots[reading->n_snapshots++] = snapshot;
		return;
	}
	reading->others[reading->n_others++] = (char *)entry->name;
	if (snapshot && !deferred && snapshot_leaf_is_clone(at + 1))
		reading->origins[reading->n_origins++] = (char *)entry->name;
}

static void finish(struct arena *arena, const char *parent, const struct entry *entry,
		   struct reading *reading)
{
	const char *at = entry->name ? strchr(entry->name, '@') : NULL;
	bool trashed = false;

	if (!entry->name)
		return;
	if (at)
		return finish_snapshot(arena, parent, entry, at, reading);
	if (!strcmp(entry->name, parent)) {
		reading->parent = true;
		reading->available = entry_number(entry->available);
	}
	struct dataset *dataset = recognise_dataset(arena, parent, entry, &trashed);
	if (!dataset)
		reading->others[reading->n_others++] = (char *)entry->name;
	else if (trashed)
		reading->trashed[reading->n_trashed++] = dataset;
	else
		reading->datasets[reading->n_datasets++] = dataset;
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

void reading_parse(struct arena *arena, const char *parent, char *text, struct reading *ret)
{
	size_t most = count_entries(text);
	struct entry entry = {0};
	char *state, *property, *value, *source;

	*ret = (struct reading){0};
	ret->datasets = arena_alloc(arena, most * sizeof(*ret->datasets));
	ret->trashed = arena_alloc(arena, most * sizeof(*ret->trashed));
	ret->snapshots = arena_alloc(arena, most * sizeof(*ret->snapshots));
	ret->origins = arena_alloc(arena, most * sizeof(*ret->origins));
	ret->others = arena_alloc(arena, most * sizeof(*ret->others));
	/* All lines of one dataset come together. */
	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		if (!entry_cut(line, &property, &value, &source))
			continue;
		if (!entry.name || strcmp(entry.name, line)) {
			finish(arena, parent, &entry, ret);
			entry = (struct entry){.name = line};
		}
		entry_take(&entry, property, value, source);
	}
	finish(arena, parent, &entry, ret);
}
