/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Snapshots of one volume in zcsi.v1.Agent: SnapshotDataset, GetDatasetSnapshot,
 * ListDatasetSnapshots, DestroyDatasetSnapshot.
 *
 * Invariant: a call that creates or destroys a snapshot with a CSI name locks that name in the
 * catalog. So a name is unique in the whole pool, even if concurrent calls are for different
 * volumes. A snapshot that another tool created is never destroyed here.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "common/volume/escape.h"
#include "node/agent/agent.h"
#include "node/agent/promise.h"
#include "node/agent/origin.h"
#include "node/attach/complete.h"
#include "node/mount/mountinfo.h"
#include "node/record/scheduled.h"
#include "node/service.h"

int agent_lock_name_key(struct rpc_call *call, const char *name, char **ret_key, struct error *err)
{
	struct node *node = call->app;

	*ret_key = arena_printf(&call->arena, "name %s", name);
	if (node_need_pool(call, "snapshot", name, err) < 0)
		return -1;
	return catalog_lock_key(node->catalog, call->deadline, *ret_key, err);
}

static int find_named(struct rpc_call *call, const char *name, struct snapshot **ret,
		      struct error *err)
{
	struct node *node = call->app;

	return catalog_snapshot_named(node->catalog, call->deadline, &call->arena, name, ret, err);
}

/* Check that an existing snapshot of this name is one of this volume. */
static int check_same(const struct snapshot *snapshot, const struct dataset *dataset,
		      struct error *err)
{
	if (snapshot_is_of(snapshot, dataset->name))
		return 0;
	if (!strcmp(snapshot->dataset_id, dataset->id))
		return fail(err, ERR_ALREADY_EXISTS,
			    "snapshot '%s' exists and is of an earlier volume '%s', which was "
			    "deleted; delete that snapshot or use another name",
			    snapshot->name, dataset->id);
	return fail(err, ERR_ALREADY_EXISTS,
		    "snapshot '%s' exists and is of volume '%s'; use another name", snapshot->name,
		    snapshot->dataset_id);
}

static int run_snapshot(struct rpc_call *call, const struct dataset *dataset,
			const struct snapshot *snapshot, struct error *err)
{
	struct zfs_properties properties = {.n = 0};
	const char *zfs_name = snapshot->zfs_name;

	zfs_property(&properties, "zcsi:version", DATASET_VERSION);
	zfs_property(&properties, "zcsi:snapshot", escape_text(&call->arena, snapshot->name));
	zfs_property(&properties, "zcsi:size",
		     arena_printf(&call->arena, "%" PRId64, dataset->size));
	return zfs_snapshot(&zfs_name, 1, &properties, err);
}

/*
 * Handle a snapshot that exists in ZFS but not in the catalog: return it if it has the wanted CSI
 * name, or fail.
 */
static int adopt(struct rpc_call *call, const struct snapshot *wanted, struct snapshot **ret,
		 struct error *err)
{
	if (agent_reread(call, wanted->zfs_name, err) < 0)
		return -1;
	if (find_named(call, wanted->name, ret, err) == 0)
		return 0;
	if (err->code != ERR_NOT_FOUND)
		return -1;
	return fail(
		err, ERR_ALREADY_EXISTS,
		"the snapshot '%s' exists and was not created for the name '%s'; use another name, "
		"or rename or destroy it",
		wanted->zfs_name, wanted->name);
}

static int take(struct rpc_call *call, const struct dataset *dataset, const char *name,
		struct snapshot **ret, struct error *err)
{
	struct node *node = call->app;
	char *zfs_name = snapshot_zfs_name(&call->arena, dataset->name, name);
	/* The next scan adds the guid and the exact creation time. */
	struct snapshot made = {
		.id = snapshot_id(&call->arena, dataset->id, strchr(zfs_name, '@') + 1),
		.name = (char *)name,
		.dataset_id = dataset->id,
		.zfs_name = zfs_name,
		.dataset_guid = dataset->guid,
		.size = dataset->size,
		.has_key = dataset->has_key,
	};

	if (complete_volume(&call->arena, dataset, err) < 0 ||
	    run_snapshot(call, dataset, &made, err) < 0) {
		if (err->code == ERR_ALREADY_EXISTS)
			return adopt(call, &made, ret, err);
		agent_reread_on_error(call, dataset->name, err);
		return fail_context(err, "snapshot '%s' of volume '%s' cannot be taken", name,
				    dataset->id);
	}
	made.creation = time(NULL);
	catalog_put_snapshot(node->catalog, &made);
	*ret = snapshot_copy(&call->arena, &made);
	return 0;
}

static int find_or_take(struct rpc_call *call, const SnapshotDatasetRequest *req, const char *key,
			struct snapshot **ret, struct error *err)
{
	struct dataset *dataset;

	if (node_find(call, req->id, &dataset, err) < 0)
		return -1;
	if (find_named(call, req->name, ret, err) < 0) {
		if (err->code != ERR_NOT_FOUND || promise_begin(call, key, req->claim, err) < 0)
			return -1;
		int failed = take(call, dataset, req->name, ret, err);
		promise_end(call, key, req->claim);
		if (failed)
			return -1;
	}
	return check_same(*ret, dataset, err);
}

int snapshot_dataset(struct rpc_call *call, const SnapshotDatasetRequest *req,
		     SnapshotDatasetResponse *rsp, struct error *err)
{
	struct node *node = call->app;
	struct snapshot *snapshot;
	char *key;

	if (agent_text(req->id, "id", err) < 0 || agent_text(req->name, "name", err) < 0 ||
	    agent_lock_name_key(call, req->name, &key, err) < 0)
		return -1;
	int failed = find_or_take(call, req, key, &snapshot, err);
	catalog_unlock_key(node->catalog, key);
	if (!failed)
		rsp->snapshot = agent_snapshot(&call->arena, snapshot);
	return failed;
}

/*
 * Find a snapshot by its CSI name, or promise the name. A call that is creating the snapshot has
 * the name locked, so the lookup waits for that call.
 */
static int get_named(struct rpc_call *call, const GetDatasetSnapshotRequest *req,
		     struct snapshot **ret, GetDatasetSnapshotResponse *rsp, struct error *err)
{
	struct node *node = call->app;
	char *key;

	if (agent_lock_name_key(call, req->name, &key, err) < 0)
		return -1;
	int failed = find_named(call, req->name, ret, err);
	const struct promise_wish wish = {.key = key,
					  .kind = NAME_SNAPSHOT,
					  .name = req->name,
					  .claim = req->claim,
					  .target = req->target};
	if (failed)
		failed = promise_give(call, &wish, &rsp->promised, &rsp->promise, err);
	catalog_unlock_key(node->catalog, key);
	return failed;
}

static int find(struct rpc_call *call, const char *id, struct snapshot **ret, struct error *err)
{
	struct node *node = call->app;

	return catalog_snapshot(node->catalog, call->deadline, &call->arena, id, ret, err);
}

/*
 * Find a snapshot by its id. If the catalog does not have it, derive its ZFS name from the id, if
 * possible, and read that from ZFS: another tool may have created it after the last scan.
 */
static int find_or_reread(struct rpc_call *call, const char *id, struct snapshot **ret,
			  struct error *err)
{
	static const char legal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "-_.:";
	const char *at = strrchr(id, '@');
	struct dataset *dataset;
	struct error unknown;

	if (find(call, id, ret, err) == 0)
		return 0;
	if (err->code != ERR_NOT_FOUND || !at || !at[1] || at[1 + strspn(at + 1, legal)])
		return -1;
	char *owner = arena_printf(&call->arena, "%.*s", (int)(at - id), id);
	if (node_find(call, owner, &dataset, &unknown) < 0) {
		if (unknown.code != ERR_NOT_FOUND)
			*err = unknown;
		return -1;
	}
	char *zfs_name = arena_printf(&call->arena, "%s%s", dataset->name, at);
	if (strlen(zfs_name) > DATASET_NAME_MAX)
		return fail(err, ERR_NOT_FOUND,
			    "snapshot '%s' does not exist: its name is longer than ZFS allows",
			    zfs_name);
	return agent_reread(call, zfs_name, err) < 0 ? -1 : find(call, id, ret, err);
}

int get_dataset_snapshot(struct rpc_call *call, const GetDatasetSnapshotRequest *req,
			 GetDatasetSnapshotResponse *rsp, struct error *err)
{
	struct snapshot *snapshot = NULL;

	if (!*req->id == !*req->name)
		return fail(err, ERR_INVALID_ARGUMENT, "give either id or name");
	if (node_need_pool(call, "snapshot", *req->id ? req->id : req->name, err) < 0)
		return -1;
	int failed = *req->id ? find_or_reread(call, req->id, &snapshot, err)
			      : get_named(call, req, &snapshot, rsp, err);
	if (snapshot)
		rsp->snapshot = agent_snapshot(&call->arena, snapshot);
	return failed;
}

int list_dataset_snapshots(struct rpc_call *call, const ListDatasetSnapshotsRequest *req,
			   ListDatasetSnapshotsResponse *rsp, struct error *err)
{
	struct node *node = call->app;
	struct snapshot_query query = {.after = req->after, .dataset_id = req->dataset_id};
	struct snapshot_list page;
	bool more;

	if (agent_page(req->max, &query.max, err) < 0)
		return -1;
	if (!node->catalog)
		return 0;
	if (catalog_snapshots(node->catalog, call->deadline, &call->arena, &query, &page, &more,
			      err) < 0)
		return -1;
	rsp->more = more;
	rsp->snapshots = arena_alloc(&call->arena, (page.n + 1) * sizeof(*rsp->snapshots));
	for (size_t i = 0; i < page.n; i++)
		rsp->snapshots[rsp->n_snapshots++] = agent_snapshot(&call->arena, page.rows[i]);
	return 0;
}

static int check_ours(const struct snapshot *snapshot, struct error *err)
{
	struct scheduled ignored;

	if (*snapshot->name)
		return 0;
	if (scheduled_parse(snapshot_leaf(snapshot), &ignored))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "snapshot '%s' was taken by the schedule of its volume, and goes when "
			    "that keeps newer ones; to destroy it now run 'zfs destroy %s'",
			    snapshot->id, snapshot->zfs_name);
	return fail(err, ERR_FAILED_PRECONDITION,
		    "snapshot '%s' was created by another tool, which may still need it; destroy "
		    "it with 'zfs destroy %s'",
		    snapshot->id, snapshot->zfs_name);
}

static void forget(struct rpc_call *call, const char *zfs_name)
{
	struct node *node = call->app;

	catalog_drop(node->catalog, zfs_name);
	if (dataset_is_trash(catalog_parent(node->catalog), zfs_name))
		catalog_reap(node->catalog);
}

/* If the snapshot is mounted, replace *err by an error that names the mount point. Returns -1. */
static int explain_mount(struct rpc_call *call, const char *zfs_name, struct error *err)
{
	struct mount_table table;
	struct error ignored;

	if (err->code != ERR_FAILED_PRECONDITION ||
	    mount_table_read(&call->arena, &table, &ignored) < 0)
		return -1;
	const struct mount *mount = mount_of_source(&table, zfs_name);
	if (!mount)
		return -1;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "'%s' is mounted at '%s', as 'zcsi snapshot mount' does it; run 'umount %s' "
		    "on that host first",
		    zfs_name, mount->target, mount->target);
}

/*
 * Destroy a snapshot in steps. Read it again first: another tool may have replaced it by a snapshot
 * of its own.
 */
static int destroy_in_steps(struct rpc_call *call, const char *zfs_name, const char *id,
			    struct error *err)
{
	struct snapshot *snapshot;

	if (agent_reread(call, zfs_name, err) < 0)
		return -1;
	if (find_or_reread(call, id, &snapshot, err) < 0)
		return err->code == ERR_NOT_FOUND ? 0 : -1;
	if (check_ours(snapshot, err) < 0)
		return -1;
	if (strcmp(snapshot->zfs_name, zfs_name) != 0)
		return fail(err, ERR_ABORTED, "it was renamed meanwhile: try again");
	if (zfs_destroy_snapshot(zfs_name, err) < 0) {
		if (err->code != ERR_NOT_FOUND)
			return explain_mount(call, zfs_name, err);
		/* Another tool destroyed the snapshot; or agent_reread finds the pool gone. */
		return agent_reread(call, zfs_name, err);
	}
	forget(call, zfs_name);
	return 0;
}

/*
 * Destroy the snapshot, whose origin key is locked. If the atomic destroy fails, destroy_in_steps
 * either succeeds or finds the reason.
 */
static int destroy_locked(struct rpc_call *call, const struct snapshot *snapshot, struct error *err)
{
	if (*snapshot->name && zfs_destroy_snapshot_proven(&call->arena, snapshot)) {
		forget(call, snapshot->zfs_name);
		return 0;
	}
	return destroy_in_steps(call, snapshot->zfs_name, snapshot->id, err);
}

static int destroy(struct rpc_call *call, const char *id, struct error *err)
{
	struct node *node = call->app;
	struct snapshot *snapshot;
	char *key;

	if (origin_lock_key(call, id, &snapshot, &key, err) < 0)
		return err->code == ERR_NOT_FOUND ? 0 : -1;
	int failed = destroy_locked(call, snapshot, err);
	catalog_unlock_key(node->catalog, key);
	return failed;
}

int destroy_dataset_snapshot(struct rpc_call *call, const DestroyDatasetSnapshotRequest *req,
			     DestroyDatasetSnapshotResponse *rsp, struct error *err)
{
	struct node *node = call->app;
	struct snapshot *snapshot;
	char *key;

	(void)rsp;
	if (request_text(req->id, "id", err) < 0 ||
	    node_need_pool(call, "snapshot", req->id, err) < 0)
		return -1;
	if (find_or_reread(call, req->id, &snapshot, err) < 0)
		return err->code == ERR_NOT_FOUND ? 0 : -1;
	if (check_ours(snapshot, err) < 0 ||
	    agent_lock_name_key(call, snapshot->name, &key, err) < 0)
		return -1;
	int failed = destroy(call, req->id, err);
	catalog_unlock_key(node->catalog, key);
	return failed ? fail_context(err, "snapshot '%s' cannot be deleted", req->id) : 0;
}
