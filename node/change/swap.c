/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The exchange of a volume's dataset, and its end after a crash.
 *
 * Invariant: nothing is destroyed but a clone that was never the volume. A snapshot is known by its
 * id at every step: it is of the volume, or of its former dataset in the trash.
 */
#include "node/change/swap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "node/agent/origin.h"
#include "node/change/marks.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

#define PROMOTIONS_MAX 64 /* one for each rollback to what an earlier one has put into the trash */

struct swap swap_of(struct arena *arena, const char *parent, const char *name, uint64_t guid)
{
	const char *leaf = strrchr(name, '/') + 1;
	const char *old = arena_printf(arena, "%s/old-%s", parent, leaf);

	return (struct swap){.name = name,
			     .clone = arena_printf(arena, "%s/" DATASET_TRASH "/new-%s", parent,
						   leaf),
			     .former = dataset_trash_name(arena, parent, old, guid)};
}

/* *ret is the value of a property, "-" if it is not set locally, in the arena. */
static int get(struct arena *arena, const char *name, const char *property, char **ret,
	       struct error *err)
{
	const char *argv[] = {"zfs", "get", "-Hp", "-o", "value", property, name, NULL};
	auto_free char *out = NULL;

	if (zfs_run_once(&(struct exec){.argv = argv}, &out, err) < 0)
		return -1;
	out[strcspn(out, "\n")] = '\0';
	*ret = arena_strdup(arena, out);
	return 0;
}

/* *ret is true if the dataset exists. */
static int exists(struct arena *arena, const char *parent, const char *name, bool *ret,
		  struct error *err)
{
	char *type;

	*ret = get(arena, name, "type", &type, err) == 0;
	return *ret ? 0 : zfs_is_missing(parent, err);
}

int swap_discard(const struct swap *swap, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	char *mark;

	if (get(&arena, swap->clone, SWAP_PROPERTY, &mark, err) < 0)
		return err->code == ERR_NOT_FOUND ? 0 : -1;
	if (strcmp(mark, "-") == 0)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is in the way, and was not made by a rollback: rename or destroy "
			    "it",
			    swap->clone);
	return zfs_destroy(swap->clone, err);
}

/* Promotion */

/* *ret is the dataset of the origin, if that is a former dataset of the volume; or NULL. */
static int former_origin(struct arena *arena, const char *parent, const char *name, const char *id,
			 const char **ret, struct error *err)
{
	bool is_former = false;
	char *origin;

	*ret = NULL;
	if (get(arena, name, "origin", &origin, err) < 0)
		return -1;
	origin[strcspn(origin, "@")] = '\0';
	if (dataset_is_trash(parent, origin) && zfs_is_volume(origin, id, &is_former, err) < 0)
		return -1;
	if (is_former)
		*ret = origin;
	return 0;
}

/* Returns true if one of the lines is the name. */
static bool has_line(const char *lines, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = lines; *at; at += strcspn(at, "\n"), at += *at == '\n')
		if (strncmp(at, name, length) == 0 && (at[length] == '\n' || !at[length]))
			return true;
	return false;
}

/* Tell the catalog which of the snapshots the volume has now. */
static int move_rows(struct catalog *catalog, struct arena *arena, const char *name,
		     const struct snapshot_list *rows, struct error *err)
{
	const char *argv[] = {"zfs",      "list", "-H",   "-d", "1", "-t",
			      "snapshot", "-o",   "name", name, NULL};
	const struct exec exec = {.argv = argv, .max_output = ZFS_LIST_OUTPUT_MAX};
	auto_free char *listed = NULL;

	if (zfs_run_once(&exec, &listed, err) < 0)
		return -1;
	for (size_t i = 0; i < rows->n; i++) {
		struct snapshot row = *rows->rows[i];
		char *moved = arena_printf(arena, "%s@%s", name, snapshot_leaf(&row));
		if (!has_line(listed, moved))
			continue;
		catalog_drop(catalog, row.zfs_name);
		row.zfs_name = moved;
		catalog_put_snapshot(catalog, &row);
	}
	return 0;
}

static int promote_locked(struct catalog *catalog, struct arena *arena, const char *name,
			  const char *origin, struct error *err)
{
	const struct dataset former = {.name = (char *)origin};
	struct snapshot_list rows;

	catalog_snapshots_of(catalog, arena, &former, &rows);
	if (zfs_promote(name, err) < 0)
		return -1;
	catalog_rescan_soon(catalog);
	return move_rows(catalog, arena, name, &rows, err);
}

static int promote(struct catalog *catalog, struct arena *arena, int64_t deadline, const char *name,
		   const char *origin, struct error *err)
{
	const char *key = origin_key(arena, origin);

	if (catalog_lock_key(catalog, deadline, key, err) < 0)
		return -1;
	int failed = promote_locked(catalog, arena, name, origin, err);
	catalog_unlock_key(catalog, key);
	return failed;
}

int swap_promote(struct catalog *catalog, struct arena *arena, int64_t deadline, const char *name,
		 const char *id, struct error *err)
{
	for (unsigned i = 0; i < PROMOTIONS_MAX; i++) {
		const char *origin;
		if (former_origin(arena, catalog_parent(catalog), name, id, &origin, err) < 0)
			return -1;
		if (!origin)
			return 0;
		if (promote(catalog, arena, deadline, name, origin, err) < 0)
			return -1;
	}
	return fail(err, ERR_INTERNAL, "'%s' has too many origins", name);
}

/* After a crash */

/* Rename the clone to the volume if the former one was renamed; else destroy the clone. */
static int end_swap(struct arena *arena, const char *parent, const struct swap *swap,
		    bool *ret_is_volume, struct error *err)
{
	bool has_volume, has_former;

	*ret_is_volume = false;
	if (exists(arena, parent, swap->name, &has_volume, err) < 0 ||
	    exists(arena, parent, swap->former, &has_former, err) < 0)
		return -1;
	if (has_volume || !has_former)
		return zfs_destroy(swap->clone, err);
	log_info("finishing a rollback that an earlier zcsi-node began",
		 log_str("dataset", swap->name));
	*ret_is_volume = true;
	return zfs_rename(swap->clone, swap->name, err);
}

/* Finish what was begun with a dataset that has the property: a clone, or the volume already. */
static int finish(struct catalog *catalog, struct arena *arena, int64_t deadline, const char *name,
		  const char *id, const char *mark, struct error *err)
{
	static const char prefix[] = "new-";
	const char *parent = catalog_parent(catalog), *leaf = strrchr(name, '/') + 1;
	bool is_volume = true;

	if (dataset_is_trash(parent, name)) {
		if (strncmp(leaf, prefix, strlen(prefix)) != 0)
			return 0;
		name = arena_printf(arena, "%s/%s", parent, leaf + strlen(prefix));
		const struct swap swap = swap_of(arena, parent, name, strtoull(mark, NULL, 10));
		if (end_swap(arena, parent, &swap, &is_volume, err) < 0)
			return -1;
	}
	return is_volume ? swap_promote(catalog, arena, deadline, name, id, err) : 0;
}

/* Always returns -1. Called again until it is finished, so only the first error is logged. */
static int warn(const char *id, const struct error *err)
{
	static bool told; /* used by one thread only */

	if (!told)
		log_warn("a rollback cannot be finished, and no volume counts as missing until it "
			 "is",
			 log_str("volume", id), log_str("error", err->text));
	told = true;
	return -1;
}

struct finishing {
	struct catalog *catalog;
	struct arena *arena;
	int64_t deadline;
	bool any; /* one was not finished */
};

static int finish_marked(void *arg, const struct mark *mark, struct error *err)
{
	struct finishing *finishing = arg;
	struct catalog *catalog = finishing->catalog;

	finishing->any |= dataset_is_trash(catalog_parent(catalog), mark->dataset);
	if (finish(catalog, finishing->arena, finishing->deadline, mark->dataset, mark->id,
		   mark->value, err) < 0)
		return warn(mark->id, err);
	return 0;
}

int swap_finish_earlier(struct catalog *catalog, struct arena *arena, int64_t deadline,
			struct error *err)
{
	struct finishing finishing = {catalog, arena, deadline, false};

	if (marks_each(arena, catalog_parent(catalog), SWAP_PROPERTY, finish_marked, &finishing,
		       err) < 0)
		return -1;
	return finishing.any ? catalog_refresh(catalog, deadline, err) : 0;
}
