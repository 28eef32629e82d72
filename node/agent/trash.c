/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Deleting volumes: DestroyDataset of zcsi.v1.Agent, and the trash, which reaper.c empties.
 *
 * Invariant: a dataset is destroyed or moved only after ZFS has just shown that it still is the
 * volume to be deleted, and if no publication holds it and it is not mounted where the pool is. A
 * volume that snapshots depend on, or of which other nodes may have copies, is moved to the trash;
 * the reaper destroys it when it has no snapshots and copies left and --trash-ttl is over. zfs
 * never gets -r, -R or -f, so ZFS refuses if the checks missed something.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "common/volume/escape.h"
#include "common/log.h"
#include "node/agent/origin.h"
#include "node/agent/trash.h"
#include "node/attach/unused.h"
#include "node/attach/family.h"
#include "node/export/exports.h"
#include "node/record/publication.h"
#include "node/service.h"
#include "node/zfs/fuse.h"

static int check_childless(const char *name, size_t children, struct error *err)
{
	if (!children)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "%zu datasets are below it; list them with 'zfs list -r %s', and destroy or "
		    "rename them first",
		    children, name);
}

/*
 * Record the time of the deletion. This precedes the rename, so a crash between the two leaves a
 * volume that a repeated call deletes.
 */
static int record_deletion(struct arena *arena, struct dataset *dataset, int64_t keep,
			   struct error *err)
{
	struct zfs_properties properties = {.n = 0};
	char *value;

	dataset->deleted = time(NULL);
	dataset->keep = keep;
	value = arena_printf(arena, "%" PRId64, dataset->deleted);
	if (keep)
		value = arena_printf(arena, "%s+%" PRId64, value, keep);
	zfs_property(&properties, "zcsi:deleted", value);
	return zfs_set(dataset->name, &properties, err);
}

/*
 * Record the time of the deletion of a volume that is to be kept in the trash. From any other
 * volume remove such a record, which a rollback or detach that failed may have left.
 */
static int record_keep(struct rpc_call *call, struct dataset *dataset, int64_t keep,
		       struct error *err)
{
	const struct node *node = call->app;

	if (keep || node->trash_ttl)
		return record_deletion(&call->arena, dataset, keep, err);
	if (!dataset->deleted)
		return 0;
	dataset->deleted = dataset->keep = 0;
	return zfs_inherit(dataset->name, "zcsi:deleted", err);
}

static int make_trash(struct arena *arena, const char *parent, struct error *err)
{
	if (zfs_create_folder(dataset_trash(arena, parent), err) == 0)
		return 0;
	return err->code == ERR_ALREADY_EXISTS ? 0 : -1;
}

/* Rename the dataset. The trash is created if it does not exist yet. */
static int rename_or_make(struct rpc_call *call, const char *dataset, const char *name,
			  struct error *err)
{
	const struct node *node = call->app;

	if (zfs_rename(dataset, name, err) == 0)
		return 0;
	if (err->code != ERR_UNAVAILABLE ||
	    make_trash(&call->arena, catalog_parent(node->catalog), err) < 0)
		return -1;
	return zfs_rename(dataset, name, err);
}

/* Check that no clone is mounted that zfs-fuse would unmount when it renames the dataset. */
static int check_clones_unmounted(struct arena *arena, const struct dataset *dataset,
				  struct error *err)
{
	const char *const *clones;
	size_t n = 0;

	if (dataset->snapshots && fuse_clones(arena, dataset->name, &clones, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (unused_check_mounts(arena, clones[i], err) < 0)
			return fail_context(err,
					    "zfs-fuse would unmount '%s', which was cloned from it",
					    clones[i]);
	return 0;
}

/*
 * Rename the dataset. An encrypted volume and its clones are locked by the name of the volume that
 * owns the key, so the rename waits for that lock (node/attach/family.h).
 */
static int rename_with_key(struct rpc_call *call, const struct dataset *dataset, const char *name,
			   struct error *err)
{
	struct family family;

	if (!dataset->has_key)
		return rename_or_make(call, dataset->name, name, err);
	if (family_lock(call, dataset->name, &family, err) < 0)
		return -1;
	int failed = rename_or_make(call, dataset->name, name, err);
	family_unlock(call, &family);
	return failed;
}

/*
 * Returns true if ZFS has the dataset under a new name. `zfs rename` may fail after it has renamed
 * the dataset, if it cannot mount a dependent again.
 */
static bool is_renamed(struct rpc_call *call, const struct dataset *dataset, const char *name)
{
	const struct node *node = call->app;
	struct dataset moved = *dataset;
	struct error ignored;
	size_t children;

	moved.name = (char *)name;
	return agent_prove(&call->arena, catalog_parent(node->catalog), &moved, &children,
			   &ignored) != NULL;
}

int trash_lock(struct rpc_call *call, const struct dataset *dataset, int *ret_turn,
	       struct error *err)
{
	if (fuse_lock(ret_turn, err) < 0)
		return -1;
	return check_clones_unmounted(&call->arena, dataset, err);
}

int trash_rename(struct rpc_call *call, const struct dataset *dataset, const char *name,
		 struct error *err)
{
	if (dataset->renaming && agent_end_rename(&call->arena, dataset, err) < 0)
		return -1;
	if (rename_with_key(call, dataset, name, err) == 0)
		return 0;
	return is_renamed(call, dataset, name) ? 0 : -1;
}

bool trash_release_reservation(const char *name)
{
	struct zfs_properties properties = {.n = 0};
	struct error err;

	zfs_property(&properties, "refreservation", "none");
	if (zfs_set(name, &properties, &err) == 0)
		return true;
	if (err.code != ERR_NOT_FOUND)
		log_warn("cannot give up the reservation of a deleted volume",
			 log_str("dataset", name), log_str("error", err.text));
	return false;
}

bool trash_made_room(struct rpc_call *call, const struct error *err)
{
	const struct node *node = call->app;

	return err->code == ERR_RESOURCE_EXHAUSTED &&
	       catalog_make_room(node->catalog, call->deadline);
}

/* Move a volume to the trash. keep: seconds to keep it there, whatever --trash-ttl is; or 0. */
static int move_to_trash(struct rpc_call *call, struct dataset *dataset, int64_t keep,
			 struct error *err)
{
	struct node *node = call->app;
	auto_close int turn = -1;
	char *name = dataset_trash_name(&call->arena, catalog_parent(node->catalog), dataset->name,
					dataset->guid);
	struct snapshot_list snapshots;

	catalog_snapshots_of(node->catalog, &call->arena, dataset, &snapshots);
	if (trash_lock(call, dataset, &turn, err) < 0 ||
	    record_keep(call, dataset, keep, err) < 0 || trash_rename(call, dataset, name, err) < 0)
		return -1;
	if (dataset->reserved && trash_release_reservation(name))
		dataset->reserved = 0;
	catalog_move(node->catalog, dataset, name, &snapshots);
	return 0;
}

int trash_keep(struct rpc_call *call, struct dataset *dataset, struct error *err)
{
	return move_to_trash(call, dataset, TRASH_KEEP_S, err);
}

/*
 * Destroy a volume in one step: ZFS checks that it is this volume and destroys it atomically
 * (zfs_destroy_proven). Returns false if that is impossible or failed. An exported volume is
 * mounted, so unused_check_mounts refuses it. The kernel refuses to destroy a zvol only while its
 * device is open.
 */
static bool destroy_atomically(struct rpc_call *call, const struct dataset *known)
{
	const struct node *node = call->app;
	const char *volume = escape_text(&call->arena, known->id);
	struct snapshot_list snapshots;
	struct error ignored;

	catalog_snapshots_of(node->catalog, &call->arena, known, &snapshots);
	if (snapshots.n || *known->members || node->trash_ttl ||
	    unused_check_mounts(&call->arena, known->name, &ignored) < 0 ||
	    !zfs_destroy_proven(known->name, known->guid, volume))
		return false;
	catalog_drop(node->catalog, known->name);
	return true;
}

static int destroy_in_steps(struct rpc_call *call, const struct dataset *known, struct error *err)
{
	struct node *node = call->app;
	size_t children;
	struct dataset *dataset =
		agent_prove(&call->arena, catalog_parent(node->catalog), known, &children, err);
	if (!dataset || publication_check_none(&call->arena, dataset, node->id, err) < 0 ||
	    exports_apply(&call->arena, node, dataset, call->deadline, err) < 0 ||
	    unused_check(&call->arena, dataset, err) < 0 ||
	    check_childless(dataset->name, children, err) < 0)
		return -1;
	if (dataset->snapshots || *dataset->members || node->trash_ttl)
		return move_to_trash(call, dataset, 0, err);
	if (zfs_destroy(dataset->name, err) < 0)
		return -1;
	catalog_drop(node->catalog, dataset->name);
	return 0;
}

/* If the atomic destroy fails, destroy_in_steps either succeeds or finds the reason. */
static int destroy_once(struct rpc_call *call, const struct dataset *known, struct error *err)
{
	const struct node *node = call->app;

	if (publication_check_none(&call->arena, known, node->id, err) < 0)
		return -1;
	return destroy_atomically(call, known) ? 0 : destroy_in_steps(call, known, err);
}

/*
 * Destroy a volume with its origin key locked. ERR_ALREADY_EXISTS means that a snapshot was taken
 * after the checks, so repeat them: the second time the volume moves to the trash.
 */
static int destroy(struct rpc_call *call, const struct dataset *known, struct error *err)
{
	struct node *node = call->app;
	const char *key = origin_key(&call->arena, known->name);

	if (catalog_lock_key(node->catalog, call->deadline, key, err) < 0)
		return -1;
	int failed = destroy_once(call, known, err);
	if (failed && err->code == ERR_ALREADY_EXISTS)
		failed = destroy_once(call, known, err);
	catalog_unlock_key(node->catalog, key);
	return failed;
}

/* Read a volume that the catalog does not have from ZFS; ERR_NOT_FOUND if it does not exist. */
static int find_in_zfs(struct rpc_call *call, const char *id, struct dataset **ret,
		       struct error *err)
{
	if (agent_reread(call, node_dataset_name(call, id), err) < 0)
		return -1;
	return node_find(call, id, ret, err);
}

int trash_destroy(struct rpc_call *call, const char *id, struct error *err)
{
	struct dataset *dataset;

	if (node_find(call, id, &dataset, err) < 0) {
		if (err->code != ERR_NOT_FOUND)
			return -1;
		if (find_in_zfs(call, id, &dataset, err) < 0)
			return err->code == ERR_NOT_FOUND ? 0 : -1;
	}
	if (destroy(call, dataset, err) == 0)
		return 0;
	if (err->code == ERR_NOT_FOUND && find_in_zfs(call, id, &dataset, err) < 0 &&
	    err->code == ERR_NOT_FOUND)
		return 0;
	return fail_context(err, "volume '%s' cannot be deleted", id);
}

int destroy_dataset(struct rpc_call *call, const DestroyDatasetRequest *req,
		    DestroyDatasetResponse *rsp, struct error *err)
{
	(void)rsp;
	if (request_text(req->id, "id", err) < 0)
		return -1;
	return trash_destroy(call, req->id, err);
}
