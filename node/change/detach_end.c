/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The end of detaching a volume, after a crash too.
 *
 * Invariant: a snapshot of the former volume is destroyed only after DETACH_PROPERTY of the volume
 * got the "+" (detach_end.h). The copy had a snapshot with each guid of the former volume when it
 * became the volume. A snapshot that was destroyed in one of the two datasets before the "+" does
 * not come back.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "node/agent/origin.h"
#include "node/agent/trash.h"
#include "node/change/detach.h"
#include "node/change/marks.h"
#include "node/change/swap.h"
#include "node/copy/history.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

/* Read the snapshots of a dataset. Returns 1 if it is missing. */
static int read_history(struct arena *arena, const char *parent, const char *name,
			struct history *ret, struct error *err)
{
	*ret = (struct history){.n = 0};
	if (history_read(arena, name, ret, err) == 0)
		return 0;
	return zfs_is_missing(parent, err) < 0 ? -1 : 1;
}

/* Returns true if the snapshot was taken for the copy. */
static bool is_own(const struct point *point)
{
	return !point->bookmark &&
	       strncmp(point->leaf, DETACH_SNAPSHOT, strlen(DETACH_SNAPSHOT)) == 0;
}

static int destroy(const char *name, struct error *err)
{
	return zfs_destroy(name, err) < 0 && err->code != ERR_NOT_FOUND ? -1 : 0;
}

/* Destroy all snapshots of a history, or only those that were taken for the copy. */
static int destroy_snapshots(const struct history *history, bool all, struct error *err)
{
	for (size_t i = 0; i < history->n; i++) {
		const struct point *point = &history->points[i];
		if (!point->bookmark && (all || is_own(point)) && destroy(point->name, err) < 0)
			return -1;
	}
	return 0;
}

/* Destroy a copy that never became the volume, with its snapshots; OK if it is missing. */
static int destroy_copy(struct arena *arena, const char *parent, const char *name,
			struct error *err)
{
	struct history history;
	int missing = read_history(arena, parent, name, &history, err);

	if (missing)
		return missing < 0 ? -1 : 0;
	return destroy_snapshots(&history, true, err) < 0 ? -1 : destroy(name, err);
}

/* Remove the snapshots that were taken for the copy, and DETACH_PROPERTY. */
static int unmark(struct arena *arena, const char *parent, const char *name, struct error *err)
{
	struct history history;
	char *origin, *mark;

	if (read_history(arena, parent, name, &history, err) < 0 ||
	    destroy_snapshots(&history, false, err) < 0 ||
	    detach_read(arena, name, &origin, &mark, err) < 0)
		return -1;
	return *mark ? zfs_inherit(name, DETACH_PROPERTY, err) : 0;
}

int detach_end_discard(struct arena *arena, const char *parent, const char *name, struct error *err)
{
	const char *copy =
		arena_printf(arena, "%s/" DETACH_FOLDER "/%s", parent, strrchr(name, '/') + 1);

	if (zfs_inherit(name, "zcsi:deleted", err) < 0 ||
	    destroy_copy(arena, parent, copy, err) < 0)
		return -1;
	return unmark(arena, parent, name, err);
}

/* Steps 6 and 7 of detach_end.h */

/* Returns how many points, the oldest first, are not newer than the last snapshot for the copy. */
static size_t count_copied(const struct history *history)
{
	size_t n = 0;

	for (size_t i = 0; i < history->n; i++)
		if (is_own(&history->points[i]))
			n = i + 1;
	return n;
}

/*
 * Destroy the copied snapshots of the volume that the former dataset does not have any more, and
 * record that by the "+". Snapshots that are newer than the last one for the copy were taken after
 * the exchange, if an earlier attempt to finish failed, and stay.
 */
static int settle(struct arena *arena, const char *name, const struct history *now,
		  const struct history *former, const char *mark, struct error *err)
{
	struct zfs_properties properties = {.n = 0};
	const size_t copied = count_copied(now);

	for (size_t i = 0; i < copied; i++)
		if (!now->points[i].bookmark && !history_snapshot(former, now->points[i].guid) &&
		    destroy(now->points[i].name, err) < 0)
			return -1;
	zfs_property(&properties, DETACH_PROPERTY, arena_printf(arena, "%s+", mark));
	return zfs_set(name, &properties, err);
}

/* Keep the former volume for --trash-ttl from now on, like any other deleted volume. */
static int let_go(const struct node *node, struct arena *arena, const char *former,
		  struct error *err)
{
	struct zfs_properties properties = {.n = 0};

	if (zfs_inherit(former, DETACH_PROPERTY, err) < 0)
		return -1;
	if (!node->trash_ttl)
		return zfs_inherit(former, "zcsi:deleted", err);
	zfs_property(&properties, "zcsi:deleted",
		     arena_printf(arena, "%" PRId64, (int64_t)time(NULL)));
	return zfs_set(former, &properties, err);
}

int detach_end_finish(const struct node *node, struct arena *arena, const char *name,
		      const char *mark, struct error *err)
{
	const char *parent = catalog_parent(node->catalog);
	const char *former = swap_of(arena, parent, name, strtoull(mark, NULL, 10)).former;
	struct history now, before;
	int missing = read_history(arena, parent, former, &before, err);

	if (missing < 0 || history_read(arena, name, &now, err) < 0)
		return -1;
	if (!missing) {
		if (!strchr(mark, '+') && settle(arena, name, &now, &before, mark, err) < 0)
			return -1;
		if (destroy_snapshots(&before, true, err) < 0 ||
		    let_go(node, arena, former, err) < 0)
			return -1;
		trash_release_reservation(former);
		catalog_mark_stale(node->catalog, former);
	}
	return unmark(arena, parent, name, err);
}

/* The locks of both datasets */

int detach_end_lock(const struct node *node, struct arena *arena, int64_t deadline,
		    const char *name, const char *former, struct error *err)
{
	const char *key = origin_key(arena, name);

	if (catalog_lock_key(node->catalog, deadline, key, err) < 0)
		return -1;
	if (catalog_lock_key(node->catalog, deadline, origin_key(arena, former), err) == 0)
		return 0;
	catalog_unlock_key(node->catalog, key);
	return -1;
}

void detach_end_unlock(const struct node *node, struct arena *arena, const char *name,
		       const char *former)
{
	catalog_unlock_key(node->catalog, origin_key(arena, former));
	catalog_unlock_key(node->catalog, origin_key(arena, name));
	catalog_reap(node->catalog);
}

/* Ending detaches after a crash */

struct found {
	const struct node *node;
	struct arena *arena;
	int64_t deadline;
	const char *dataset, *id, *mark; /* a dataset with DETACH_PROPERTY, its id, the value */
};

/* *ret is the guid of a dataset; 0 if it is missing. */
static int guid_of(const struct found *found, const char *name, uint64_t *ret, struct error *err)
{
	*ret = 0;
	return zfs_guid(name, ret, err) < 0
		       ? zfs_is_missing(catalog_parent(found->node->catalog), err)
		       : 0;
}

/*
 * Log an error after which the volume is usable: the next zcsi-node or the next `zcsi detach` ends
 * the detach. Returns 0, or -1 if the pool cannot be read.
 */
static int put_off(const char *dataset, const struct error *err)
{
	if (err->code == ERR_UNAVAILABLE)
		return -1;
	log_warn("cannot end an interrupted detach", log_str("dataset", dataset),
		 log_str("error", err->text));
	return 0;
}

/*
 * End an unfinished detach of a volume: finish it, or give it up if the datasets were not
 * exchanged.
 */
static int end_volume(const struct found *found, const char *name, const char *mark,
		      struct error *err)
{
	const char *parent = catalog_parent(found->node->catalog);
	const uint64_t former = strtoull(mark, NULL, 10);
	const struct swap swap = swap_of(found->arena, parent, name, former);
	uint64_t guid;

	if (guid_of(found, name, &guid, err) < 0)
		return -1;
	if (detach_end_lock(found->node, found->arena, found->deadline, name, swap.former, err) < 0)
		return put_off(name, err);
	int failed = guid == former ? detach_end_discard(found->arena, parent, name, err)
				    : detach_end_finish(found->node, found->arena, name, mark, err);
	detach_end_unlock(found->node, found->arena, name, swap.former);
	return failed ? put_off(name, err) : 0;
}

/* Make the copy the volume, which is missing. Only the first error is logged. */
static int replace(const struct found *found, const char *copy, const char *name, struct error *err)
{
	static bool logged; /* the error was logged; used by one thread only */
	struct catalog *catalog = found->node->catalog;

	log_info("interrupted detach is resumed", log_str("volume", found->id),
		 log_str("dataset", name));
	if (zfs_rename(copy, name, err) == 0) {
		catalog_rescan_soon(catalog); /* to read the snapshots of both datasets */
		if (catalog_reread(catalog, found->deadline, name, err) < 0)
			return -1;
		return end_volume(found, name, found->mark, err);
	}
	if (!logged)
		log_warn("cannot finish a detach, missing volumes are UNAVAILABLE until then",
			 log_str("volume", found->id), log_str("error", err->text));
	logged = true;
	return -1;
}

/*
 * End the detach of a former volume in the trash: if the volume is missing, make the copy the
 * volume.
 */
static int end_former(const struct found *found, struct error *err)
{
	const char *parent = catalog_parent(found->node->catalog);
	const char *name = dataset_name(found->arena, parent, found->id);
	const char *copy = arena_printf(found->arena, "%s/" DETACH_FOLDER "/%s", parent,
					strrchr(name, '/') + 1);
	uint64_t own, guid = strtoull(found->mark, NULL, 10);
	const struct swap swap = swap_of(found->arena, parent, name, guid);
	char *origin, *mark;

	if (strcmp(found->dataset, swap.former) != 0)
		return unmark(found->arena, parent, found->dataset, err) < 0
			       ? put_off(found->dataset, err)
			       : 0;
	if (guid_of(found, name, &own, err) < 0)
		return -1;
	if (own)
		return 0;
	if (detach_read(found->arena, copy, &origin, &mark, err) < 0)
		return zfs_is_missing(parent, err);
	return strtoull(mark, NULL, 10) == guid ? replace(found, copy, name, err) : 0;
}

static int end_marked(void *arg, const struct mark *mark, struct error *err)
{
	struct found *found = arg;
	const char *parent = catalog_parent(found->node->catalog);

	found->dataset = mark->dataset;
	found->id = mark->id;
	found->mark = mark->value;
	if (dataset_is_trash(parent, found->dataset))
		return end_former(found, err);
	if (strcmp(found->dataset, dataset_name(found->arena, parent, found->id)) == 0)
		return end_volume(found, found->dataset, found->mark, err);
	return 0;
}

/* Destroy the copies that are left, which belong to volumes that were deleted meanwhile. */
static int destroy_copies(struct arena *arena, const char *parent, struct error *err)
{
	const char *folder = arena_printf(arena, "%s/" DETACH_FOLDER, parent);
	const char *argv[] = {"zfs", "list", "-H",   "-d", "1", "-t", "filesystem,volume",
			      "-o",  "name", folder, NULL};
	auto_free char *out = NULL;
	char *state;

	if (zfs_run_once(&(struct exec){.argv = argv}, &out, err) < 0)
		return zfs_is_missing(parent, err);
	for (char *name = strtok_r(out, "\n", &state); name; name = strtok_r(NULL, "\n", &state))
		if (strcmp(name, folder) != 0 && destroy_copy(arena, parent, name, err) < 0 &&
		    put_off(name, err) < 0)
			return -1;
	return 0;
}

int detach_end_earlier(const struct node *node, struct arena *arena, int64_t deadline,
		       struct error *err)
{
	const char *parent = catalog_parent(node->catalog);
	struct found found = {.node = node, .arena = arena, .deadline = deadline};
	const struct marks marks = {arena, parent, DETACH_PROPERTY, DETACH_FOLDER "/"};

	if (marks_each(&marks, end_marked, &found, err) < 0)
		return -1;
	return destroy_copies(arena, parent, err);
}
