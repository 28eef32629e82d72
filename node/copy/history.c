/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The history of a volume: its snapshots and bookmarks, the points where a stream can begin.
 *
 * Invariant: points are compared by guid and never by name: a name may have been given to another
 * snapshot since, on either host.
 */
#include "node/copy/history.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/volume/escape.h"
#include "node/zfs/zfs_run.h"

bool history_parse(struct arena *arena, char *text, struct history *ret)
{
	size_t lines = 0;
	char *state;

	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	ret->points = arena_alloc(arena, (lines + 1) * sizeof(*ret->points));
	ret->n = 0;
	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		char *name = strsep(&line, "\t"), *guid = strsep(&line, "\t");
		char *at = strpbrk(name, "@#");
		const char *creation = strsep(&line, "\t");
		if (!at || !guid || !creation || !line)
			return false;
		ret->points[ret->n++] = (struct point){
			.name = name,
			.leaf = at + 1,
			.guid = strtoull(guid, NULL, 10),
			.creation = strtoll(creation, NULL, 10),
			.used = strtoll(line, NULL, 10),
			.bookmark = *at == '#',
			.own = *at == '@' && !strncmp(at + 1, HISTORY_OWN, strlen(HISTORY_OWN)),
		};
	}
	return true;
}

int history_read(struct arena *arena, const char *dataset, struct history *ret, struct error *err)
{
	const char *argv[] = {"zfs",
			      "list",
			      "-Hp",
			      "-d",
			      "1",
			      "-t",
			      "snapshot,bookmark",
			      "-s",
			      "createtxg",
			      "-o",
			      "name,guid,creation,used",
			      dataset,
			      NULL};
	const struct exec exec = {.argv = argv,
				  .timeout_ms = zfs_run_list_timeout(),
				  .max_output = ZFS_LIST_OUTPUT_MAX};
	auto_free char *out = NULL;

	if (zfs_run_once(&exec, &out, err) < 0)
		return -1;
	if (history_parse(arena, arena_strdup(arena, out), ret))
		return 0;
	return fail(err, ERR_UNAVAILABLE, "'zfs list' printed no list of the snapshots of '%s'",
		    dataset);
}

char *history_snapshot_name(struct arena *arena, const char *dataset, int64_t time)
{
	const time_t seconds = time / 1000000;
	struct tm utc;
	char text[32];

	gmtime_r(&seconds, &utc);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
	return arena_printf(arena, "%s@" HISTORY_OWN "%s.%06dZ", dataset, text,
			    (int)(time % 1000000));
}

char *history_bookmark(struct arena *arena, const char *dataset, const char *node)
{
	return arena_printf(arena, "%s#" HISTORY_OWN "%s", dataset, escape_text(arena, node));
}

static const struct point *find(const struct history *history, uint64_t guid, bool bookmark)
{
	for (size_t i = history->n; i-- > 0;)
		if (history->points[i].guid == guid && history->points[i].bookmark == bookmark)
			return &history->points[i];
	return NULL;
}

const struct point *history_find(const struct history *history, uint64_t guid)
{
	const struct point *snapshot = find(history, guid, false);

	return snapshot ? snapshot : find(history, guid, true);
}

const struct point *history_base(const struct history *history, const CopyState *copy)
{
	const struct point *base = NULL;

	for (size_t i = 0; copy && !base && i < copy->n_snapshots; i++)
		base = history_find(history, copy->snapshots[i]->guid);
	return base;
}

const struct point *history_after(const struct history *history, const struct point *base)
{
	return base ? base + 1 : history->points;
}

const struct point *history_snapshot(const struct history *history, uint64_t guid)
{
	return find(history, guid, false);
}

const struct point *history_newest_own(const struct history *history)
{
	for (size_t i = history->n; i-- > 0;)
		if (history->points[i].own)
			return &history->points[i];
	return NULL;
}

const struct point *history_named(const struct history *history, const char *name)
{
	for (size_t i = 0; i < history->n; i++)
		if (strcmp(history->points[i].name, name) == 0)
			return &history->points[i];
	return NULL;
}

int64_t history_synced(const struct history *history, const char *bookmark)
{
	const struct point *point = history_named(history, bookmark);

	return point ? point->creation * 1000000 : 0;
}
