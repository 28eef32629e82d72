/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_HISTORY_H
#define ZCSI_NODE_COPY_HISTORY_H

/*
 * The snapshots and bookmarks of a volume, oldest first: from which of them a stream can begin, and
 * which are still to be sent. All live in the arena.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"
#include "node/record/snapshot.h"
#include "proto/copy.h"

/* Snapshots that zcsi takes for copies are _repl-<time>; each copy has a bookmark _repl-<node>. */
#define HISTORY_OWN SNAPSHOT_PUSHED

struct point {
	const char *name; /* dataset@leaf or dataset#leaf */
	const char *leaf;
	uint64_t guid; /* the snapshot's; for a bookmark, that of the snapshot it was made of */
	int64_t creation;
	int64_t used; /* bytes that only this snapshot has */
	bool bookmark;
	bool own; /* a snapshot that zcsi took for copies */
};

struct history {
	struct point *points;
	size_t n;
};

/* Read the history of a dataset. Runs one program. Returns 0, or -1 with *err. */
int history_read(struct arena *arena, const char *dataset, struct history *ret, struct error *err);
/* Parse what `zfs list` prints, in place. Returns false if a line has another form. */
bool history_parse(struct arena *arena, char *text, struct history *ret);

/* Returns the name of a snapshot of ours, which is taken at a time in microseconds since 1970. */
char *history_snapshot_name(struct arena *arena, const char *dataset, int64_t time);
/* Returns the name of the bookmark of the newest snapshot that the copy on a node has. */
char *history_bookmark(struct arena *arena, const char *dataset, const char *node);

/* Returns the point of the newest snapshot of the copy that is here as well, or NULL. */
const struct point *history_base(const struct history *history, const CopyState *copy);
/* Returns the first point after the base, or the first of all if the base is NULL. */
const struct point *history_after(const struct history *history, const struct point *base);
/* Returns the snapshot with a guid; if there is none, a bookmark of it, or NULL. */
const struct point *history_find(const struct history *history, uint64_t guid);
/* Returns the snapshot with a guid, or NULL. */
const struct point *history_snapshot(const struct history *history, uint64_t guid);
/* Returns the snapshot or bookmark with a name, or NULL. */
const struct point *history_named(const struct history *history, const char *name);
/* Returns the newest snapshot that was taken for copies, or NULL. */
const struct point *history_newest_own(const struct history *history);
/*
 * Returns the time, in microseconds since 1970, until which the copy whose bookmark has this name
 * has all that was written; 0 if there is no such bookmark.
 */
int64_t history_synced(const struct history *history, const char *bookmark);

#endif
