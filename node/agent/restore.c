/* SPDX-License-Identifier: MPL-2.0 */
/*
 * ListTrash, RestoreDataset and DestroyTrashedDataset of zcsi.v1.Agent: listing the trash, taking a
 * volume out of it, and destroying one before its time.
 *
 * Invariant: a volume leaves the trash by one `zfs rename`, after ZFS has just shown that the
 * dataset still is this volume, and the host that it is not in use, with its origin key locked, so
 * the reaper does not destroy it meanwhile. The time of the deletion is removed after the rename;
 * outside the trash it means nothing.
 */
#include <string.h>

#include "common/log.h"
#include "node/agent/origin.h"
#include "node/agent/promise.h"
#include "node/agent/reaper.h"
#include "node/agent/trash.h"
#include "node/attach/unused.h"
#include "node/host/size_limits.h"
#include "node/service.h"

static const char *leaf_of(const struct dataset *dataset)
{
	return strrchr(dataset->name, '/') + 1;
}

/* Returns the time until which a volume stays in the trash; 0: only as long as it has snapshots. */
static int64_t kept_until(const struct node *node, const struct dataset *dataset)
{
	int64_t seconds = dataset->keep > node->trash_ttl ? dataset->keep : node->trash_ttl;

	return dataset->deleted > 0 && seconds ? dataset->deleted + seconds : 0;
}

static TrashedDataset *describe(struct rpc_call *call, const struct dataset *dataset)
{
	const struct node *node = call->app;
	TrashedDataset *message = new_trashed_dataset(&call->arena);
	struct snapshot_list snapshots;

	catalog_snapshots_of(node->catalog, &call->arena, dataset, &snapshots);
	message->leaf = (char *)leaf_of(dataset);
	message->id = dataset->id;
	message->guid = dataset->guid;
	message->size = dataset->size;
	message->used = dataset->used;
	message->deleted = dataset->deleted > 0 ? dataset->deleted : 0;
	message->until = kept_until(node, dataset);
	message->snapshots = (uint32_t)snapshots.n;
	return message;
}

/* *ret is the volumes in the trash, by name. Fails before the whole pool was read. */
static int read_trash(struct rpc_call *call, struct dataset_list *ret, struct error *err)
{
	struct catalog *catalog = ((struct node *)call->app)->catalog;

	if (catalog_await(catalog, call->deadline, err) < 0)
		return -1;
	catalog_trashed(catalog, &call->arena, ret);
	return 0;
}

int list_trash(struct rpc_call *call, const ListTrashRequest *req, ListTrashResponse *rsp,
	       struct error *err)
{
	const struct node *node = call->app;
	struct dataset_list trash;
	size_t max;

	if (agent_page(req->max, &max, err) < 0)
		return -1;
	if (!node->catalog)
		return 0;
	if (read_trash(call, &trash, err) < 0)
		return -1;
	rsp->datasets = arena_alloc(&call->arena, (trash.n + 1) * sizeof(*rsp->datasets));
	for (size_t i = 0; i < trash.n; i++) {
		if (strcmp(leaf_of(trash.rows[i]), req->after) <= 0)
			continue;
		rsp->more = rsp->n_datasets == max;
		if (rsp->more)
			break;
		rsp->datasets[rsp->n_datasets++] = describe(call, trash.rows[i]);
	}
	return 0;
}

/* Find a volume in the trash. ERR_NOT_FOUND if the trash has none with this id and guid. */
static int find(struct rpc_call *call, const char *id, uint64_t guid, struct dataset **ret,
		struct error *err)
{
	struct dataset_list trash;

	if (read_trash(call, &trash, err) < 0)
		return -1;
	for (size_t i = 0; i < trash.n; i++) {
		*ret = trash.rows[i];
		if ((*ret)->guid == guid && strcmp((*ret)->id, id) == 0)
			return 0;
	}
	return fail(
		err, ERR_NOT_FOUND,
		"the trash has no such volume any more; 'zcsi trash list' prints what there is");
}

static int restore_locked(struct rpc_call *call, const struct dataset *known, const char *name,
			  struct error *err)
{
	struct node *node = call->app;
	auto_close int turn = -1;
	struct snapshot_list snapshots;
	struct error ignored;
	size_t children;
	struct dataset *dataset =
		agent_prove(&call->arena, catalog_parent(node->catalog), known, &children, err);

	if (!dataset || unused_check(&call->arena, dataset, err) < 0)
		return -1;
	catalog_snapshots_of(node->catalog, &call->arena, known, &snapshots);
	if (trash_lock(call, dataset, &turn, err) < 0 || trash_rename(call, dataset, name, err) < 0)
		return -1;
	if (dataset->deleted && zfs_inherit(name, "zcsi:deleted", &ignored) < 0)
		log_warn("cannot remove zcsi:deleted of a restored volume",
			 log_str("dataset", name), log_str("error", ignored.text));
	dataset->deleted = dataset->keep = 0;
	catalog_move(node->catalog, dataset, name, &snapshots);
	return 0;
}

static int restore(struct rpc_call *call, const struct dataset *known, const char *name,
		   struct error *err)
{
	struct catalog *catalog = ((struct node *)call->app)->catalog;
	const char *key = origin_key(&call->arena, known->name);

	if (catalog_lock_key(catalog, call->deadline, key, err) < 0)
		return -1;
	int failed = restore_locked(call, known, name, err);
	catalog_unlock_key(catalog, key);
	return failed;
}

static int restore_within_limits(struct rpc_call *call, const struct dataset *known,
				 struct error *err)
{
	struct pledge pledge = {.id = known->id, .size = size_limits_promise(known)};

	if (size_limits_begin(call, &pledge, err) < 0)
		return -1;
	int failed = restore(call, known, node_dataset_name(call, known->id), err);
	size_limits_end(call, &pledge);
	return failed;
}

/* Find the volume in the trash, and restore it if its name is promised to the claim. */
static int restore_claimed(struct rpc_call *call, const RestoreDatasetRequest *req,
			   struct error *err)
{
	struct dataset *known;

	if (find(call, req->id, req->guid, &known, err) < 0 ||
	    promise_begin(call, req->id, req->claim, err) < 0)
		return -1;
	int failed = restore_within_limits(call, known, err);
	promise_end(call, req->id, req->claim);
	return failed;
}

int restore_dataset(struct rpc_call *call, const RestoreDatasetRequest *req,
		    RestoreDatasetResponse *rsp, struct error *err)
{
	struct dataset *dataset;

	if (agent_text(req->id, "id", err) < 0)
		return -1;
	if (!req->claim)
		return fail(err, ERR_INVALID_ARGUMENT, "volume '%s' is restored without a claim",
			    req->id);
	if (node_find(call, req->id, &dataset, err) < 0 &&
	    (err->code != ERR_NOT_FOUND || restore_claimed(call, req, err) < 0 ||
	     node_find(call, req->id, &dataset, err) < 0))
		return fail_context(err, "volume '%s' cannot be restored", req->id);
	if (dataset->guid != req->guid)
		return fail(err, ERR_ALREADY_EXISTS, "volume '%s' exists", req->id);
	rsp->dataset = agent_dataset(call, dataset);
	return 0;
}

static int destroy(struct rpc_call *call, const struct dataset *known, struct error *err)
{
	struct catalog *catalog = ((struct node *)call->app)->catalog;
	const char *key = origin_key(&call->arena, known->name);
	int64_t freed;

	if (catalog_lock_key(catalog, call->deadline, key, err) < 0)
		return -1;
	int failed = reaper_destroy(catalog, &call->arena, known, &freed, err);
	catalog_unlock_key(catalog, key);
	return failed && err->code != ERR_NOT_FOUND ? -1 : 0;
}

int destroy_trashed_dataset(struct rpc_call *call, const DestroyTrashedDatasetRequest *req,
			    DestroyTrashedDatasetResponse *rsp, struct error *err)
{
	const struct node *node = call->app;
	struct dataset *known;

	(void)rsp;
	if (agent_text(req->id, "id", err) < 0)
		return -1;
	if (!node->catalog)
		return 0;
	if (find(call, req->id, req->guid, &known, err) < 0)
		return err->code == ERR_NOT_FOUND ? 0 : -1;
	if (destroy(call, known, err) < 0)
		return fail_context(err, "deleted volume '%s' is not destroyed", req->id);
	return 0;
}
