/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The snapshots and bookmarks of a volume that zcsi makes for its copies, "our own".
 *
 * Invariant: a snapshot that a copy needs or may need is destroyed only if it pins too much, and
 * only after a bookmark of it was made, because it may be the only point that volume and copy have
 * in common. A snapshot that other programs may destroy is bookmarked before it is sent, because it
 * may arrive and the answer be lost. Such a spare bookmark is destroyed when all copies have newer
 * snapshots.
 */
#include "node/copy/pins.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_run.h"

/* Returns true for a spare bookmark, whose name has a colon, which no escaped node id has. */
static bool is_spare(const struct point *point)
{
	return point->bookmark && !strncmp(point->leaf, HISTORY_OWN, strlen(HISTORY_OWN)) &&
	       strchr(point->leaf, ':');
}

static const char *spare_of(struct arena *arena, const struct point *snapshot)
{
	return arena_printf(arena, "%.*s#" HISTORY_OWN ":%" PRIu64,
			    (int)(snapshot->leaf - snapshot->name - 1), snapshot->name,
			    snapshot->guid);
}

static int destroy(const struct point *point, struct error *err)
{
	return zfs_destroy(point->name, err) < 0 && err->code != ERR_NOT_FOUND ? -1 : 0;
}

static void try_to_destroy(const struct point *point)
{
	struct error err;

	if (destroy(point, &err) < 0)
		log_debug("cannot destroy an old snapshot", log_str("snapshot", point->name),
			  log_str("error", err.text));
}

static int bookmark(const char *snapshot, const char *name, struct error *err)
{
	return zfs_run((const char *const[]){"zfs", "bookmark", snapshot, name, NULL}, err);
}

/*
 * Returns true if no copy needs the spare bookmark: the copy whose bookmark is `name` has `last`,
 * which is newer, and so are the bookmarks of the `others` other copies.
 */
static bool is_behind(const struct history *history, const struct point *spare, const char *name,
		      const struct point *last, size_t others)
{
	size_t n = 0;

	if (spare > last && spare->guid != last->guid)
		return false;
	for (const struct point *at = spare + 1; at < history->points + history->n; at++)
		n += at->bookmark && !strncmp(at->leaf, HISTORY_OWN, strlen(HISTORY_OWN)) &&
		     !is_spare(at) && strcmp(at->name, name) != 0;
	return n >= others;
}

static int move(const char *name, const struct point *to, struct error *err)
{
	if (zfs_destroy(name, err) < 0 && err->code != ERR_NOT_FOUND)
		return -1;
	return bookmark(to->name, name, err);
}

/*
 * Destroy the spare bookmark of `last` if it was made after the history was read, and if the volume
 * has only one copy.
 */
static void end_spare(struct arena *arena, const struct history *history, const struct point *last,
		      size_t others)
{
	const struct point spare = {.name = spare_of(arena, last)};

	if (!last->own && !others && !history_named(history, spare.name))
		try_to_destroy(&spare);
}

int pins_arrived(struct arena *arena, const struct history *history, const char *name,
		 const struct point *last, size_t others, struct error *err)
{
	const struct point *now = history_named(history, name);

	if ((!now || now->guid != last->guid) && move(name, last, err) < 0)
		return -1;
	end_spare(arena, history, last, others);
	for (const struct point *at = history->points; at < history->points + history->n; at++)
		if (is_spare(at) && is_behind(history, at, name, last, others))
			try_to_destroy(at);
	return 0;
}

/* Returns true if a copy needs a snapshot. Its bookmark may be listed before it or after it. */
static bool needs(const struct pins_need *need, const struct history *history,
		  const struct point *at)
{
	if (need->heard)
		return at->guid == need->has || at->guid == need->to;
	const struct point *from = history_named(history, need->bookmark);
	const struct point *to = history_find(history, need->to);
	return (!from || at > from || at->guid == from->guid) && (!need->to || at <= to);
}

bool pins_need(const struct pins_need *list, size_t n, const struct history *history,
	       const struct point *at)
{
	for (size_t i = 0; i < n; i++)
		if (needs(&list[i], history, at))
			return true;
	return false;
}

void pins_thin(const struct history *history, const struct pins_need *list, size_t n)
{
	const struct point *newest = history_newest_own(history);

	for (const struct point *at = history->points; at < history->points + history->n; at++)
		if (at->own && at != newest && !pins_need(list, n, history, at))
			try_to_destroy(at);
}

static int64_t most_of(const struct pins_bounds *bounds)
{
	return bounds->most ? bounds->most : PIN_MOST_S;
}

/*
 * The smaller of age and idle time counts, because a snapshot younger than bounds->idle was taken
 * for another copy, which gets data.
 */
bool pins_too_much(const struct point *snapshot, const struct pins_bounds *bounds, int64_t now)
{
	int64_t age = now - snapshot->creation, least = age < bounds->idle ? age : bounds->idle;

	return least >= most_of(bounds) ||
	       (least >= PIN_LARGE_S && bounds->size && snapshot->used > bounds->size / PIN_PART);
}

bool pins_may(const struct pins_bounds *bounds)
{
	return bounds->idle >= PIN_LARGE_S || bounds->idle >= most_of(bounds);
}

/*
 * A copy's bookmark of the snapshot does not suffice: it moves when the copy has a newer snapshot.
 */
int pins_spare(struct arena *arena, const struct history *history, const struct point *snapshot,
	       struct error *err)
{
	const char *name = spare_of(arena, snapshot);

	return history_named(history, name) ? 0 : bookmark(snapshot->name, name, err);
}

/* Destroy a snapshot, after making a spare bookmark of it unless it has one. */
static void replace(struct arena *arena, const struct history *history, const struct point *point)
{
	struct error err;

	if (pins_spare(arena, history, point, &err) < 0) {
		log_debug("cannot bookmark a snapshot", log_str("snapshot", point->name),
			  log_str("error", err.text));
		return;
	}
	log_info("snapshot for a stale copy is replaced by a bookmark",
		 log_str("snapshot", point->name), log_int("used", point->used));
	try_to_destroy(point);
}

void pins_limit(struct arena *arena, const struct history *history,
		const struct pins_bounds *bounds)
{
	int64_t now = time(NULL);

	for (const struct point *at = history->points; at < history->points + history->n; at++)
		if (at->own && pins_too_much(at, bounds, now))
			replace(arena, history, at);
}

int pins_end(struct arena *arena, const char *dataset, struct error *err)
{
	struct history history;

	if (history_read(arena, dataset, &history, err) < 0)
		return -1;
	for (const struct point *at = history.points; at < history.points + history.n; at++)
		if ((at->own || is_spare(at)) && destroy(at, err) < 0)
			return -1;
	return 0;
}
