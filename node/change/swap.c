/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The exchange of a volume's dataset, and its end after a crash.
 *
 * Invariant: nothing is destroyed but a clone that was never the volume. At every step each
 * snapshot is found by its id: it is of the volume, or of its former dataset in the trash.
 */
#include "node/change/swap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "node/agent/origin.h"
#include "node/agent/trash.h"
#include "node/change/marks.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

#define PROMOTIONS_MAX 64 /* rollbacks, each to a snapshot that an earlier one trashed */

struct swap swap_of(struct arena *arena, const char *parent, const char *name, uint64_t guid)
{
	const char *leaf = strrchr(name, '/') + 1;
	const char *old = arena_printf(arena, "%s/old-%s", parent, leaf);

	return (struct swap){.name = name,
			     .clone = arena_printf(arena, "%s/" DATASET_TRASH "/new-%s", parent,
						   leaf),
			     .former = dataset_trash_name(arena, parent, old, guid)};
}

/* *ret is the value of a property, a single line, in the arena; "-": the dataset has none. */
static int get(struct arena *arena, const char *name, const char *property, char **ret,
	       struct error *err)
{
	const char *argv[] = {"zfs", "get", "-Hp", "-o", "value", property, name, NULL};
	auto_free char *out = NULL;

	if (zfs_run_once(&(struct exec){.argv = argv}, &out, err) < 0)
		return -1;
	char *end = strchrnul(out, '\n');
	if (*end && end[1]) {
		zfs_fail_damaged(name, err);
		return -1;
	}
	*end = '\0';
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
	char *mark, *type;

	if (get(&arena, swap->clone, SWAP_PROPERTY, &mark, err) < 0)
		return err->code == ERR_NOT_FOUND ? 0 : -1;
	if (strcmp(mark, "-") == 0)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is in the way, and was not made by a rollback: rename or destroy "
			    "it",
			    swap->clone);
	if (get(&arena, swap->name, "type", &type, err) < 0)
		return -1;
	return zfs_destroy(swap->clone, err);
}

/* The exchange of the two datasets */

/* Have the former dataset, and its scheduled snapshots, kept in the trash for TRASH_KEEP_S. */
static int record_end(struct arena *arena, struct dataset *volume, struct error *err)
{
	struct zfs_properties properties = {.n = 0};

	volume->deleted = time(NULL);
	volume->keep = TRASH_KEEP_S;
	zfs_property(&properties, "zcsi:deleted",
		     arena_printf(arena, "%" PRId64 "+%d", volume->deleted, TRASH_KEEP_S));
	return zfs_set(volume->name, &properties, err);
}

/* Returns true if ZFS shows that the dataset of this name still is the volume. */
static bool is_there(const struct dataset *volume)
{
	struct error ignored;
	uint64_t found;

	return zfs_guid(volume->name, &found, &ignored) == 0 && found == volume->guid;
}

int swap_exchange(struct rpc_call *call, const struct swap *swap, struct dataset *volume,
		  bool *ret_missing, struct error *err)
{
	struct dataset former = *volume;
	struct error ignored;

	*ret_missing = false;
	former.name = (char *)swap->former;
	if (record_end(&call->arena, volume, err) < 0)
		return -1;
	if (trash_rename(call, volume, swap->former, err) < 0) {
		*ret_missing = !is_there(volume);
		return -1;
	}
	if (zfs_rename(swap->clone, swap->name, err) == 0)
		return 0;
	*ret_missing = trash_rename(call, &former, swap->name, &ignored) < 0;
	return -1;
}

/* Promoting the volume */

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

/* Report to the catalog which of the snapshots `rows` the volume has after the promotion. */
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

	if (catalog_await(catalog, deadline, err) < 0 ||
	    catalog_lock_key(catalog, deadline, key, err) < 0)
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

/* Ending rollbacks after a crash */

/* Make the clone the volume, which is missing. Only the first error is logged. */
static int replace(struct catalog *catalog, int64_t deadline, const struct swap *swap,
		   const char *id, struct error *err)
{
	static bool logged; /* the error was logged; used by one thread only */

	log_info("interrupted rollback is resumed", log_str("volume", id),
		 log_str("dataset", swap->name));
	if (zfs_rename(swap->clone, swap->name, err) == 0) {
		catalog_drop(catalog, swap->clone);
		return catalog_reread(catalog, deadline, swap->name, err);
	}
	if (!logged)
		log_warn("cannot finish a rollback, missing volumes are UNAVAILABLE until then",
			 log_str("volume", id), log_str("error", err->text));
	logged = true;
	return -1;
}

/*
 * Log an error after which the volume is not missing: the next zcsi-node or the next `zcsi
 * rollback` ends the rollback. Returns 0, or -1 if the pool cannot be read.
 */
static int put_off(const char *dataset, const struct error *err)
{
	if (err->code == ERR_UNAVAILABLE)
		return -1;
	log_warn("cannot end an interrupted rollback", log_str("dataset", dataset),
		 log_str("error", err->text));
	return 0;
}

/*
 * End a rollback that has its clone in the trash: if the volume was renamed to the former one, make
 * the clone the volume, else destroy the clone.
 */
static int end_clone(struct catalog *catalog, struct arena *arena, int64_t deadline,
		     const struct swap *swap, const char *id, bool *ret_is_volume,
		     struct error *err)
{
	const char *parent = catalog_parent(catalog);
	bool has_volume, has_former;

	if (exists(arena, parent, swap->name, &has_volume, err) < 0 ||
	    exists(arena, parent, swap->former, &has_former, err) < 0)
		return -1;
	*ret_is_volume = !has_volume && has_former;
	if (*ret_is_volume)
		return replace(catalog, deadline, swap, id, err);
	if (zfs_destroy(swap->clone, err) < 0)
		return put_off(swap->clone, err);
	catalog_drop(catalog, swap->clone);
	return 0;
}

struct finishing {
	struct catalog *catalog;
	struct arena *arena;
	int64_t deadline;
};

/*
 * Finish the rollback of a dataset that has SWAP_PROPERTY: a clone in the trash, or a volume that
 * was one. A volume that was deleted since has the property too, but another name, and is left
 * alone.
 */
static int finish(void *arg, const struct mark *mark, struct error *err)
{
	const struct finishing *with = arg;
	const char *parent = catalog_parent(with->catalog);
	const char *name = dataset_name(with->arena, parent, mark->id);
	const struct swap swap =
		swap_of(with->arena, parent, name, strtoull(mark->value, NULL, 10));
	bool is_volume = strcmp(mark->dataset, name) == 0;

	if (strcmp(mark->dataset, swap.clone) == 0 &&
	    end_clone(with->catalog, with->arena, with->deadline, &swap, mark->id, &is_volume,
		      err) < 0)
		return -1;
	if (!is_volume)
		return 0;
	return swap_promote(with->catalog, with->arena, with->deadline, name, mark->id, err) < 0
		       ? put_off(name, err)
		       : 0;
}

int swap_finish_earlier(struct catalog *catalog, struct arena *arena, int64_t deadline,
			struct error *err)
{
	struct finishing finishing = {catalog, arena, deadline};
	const struct marks marks = {arena, catalog_parent(catalog), SWAP_PROPERTY,
				    DATASET_TRASH "/new-"};

	return marks_each(&marks, finish, &finishing, err);
}
