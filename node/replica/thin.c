/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Replica.ThinCopy: snapshots of a copy that its owner does not have any more are destroyed.
 *
 * Invariant: a snapshot goes only if the owner has named it and ZFS has just shown it with the same
 * guid, if zcsi has made it, and if it is not the newest one. If anything depends on it, ZFS
 * refuses: the destroy is neither recursive nor deferred. No stream is received meanwhile.
 */
#include "node/replica/thin.h"

#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "node/catalog/change.h"
#include "node/host/node.h"
#include "node/replica/replica.h"
#include "node/service.h"
#include "node/zfs/zfs.h"

static bool is_named(const ThinCopyRequest *req, const CopySnapshot *snapshot)
{
	for (size_t i = 0; i < req->n_snapshots; i++)
		if (req->snapshots[i]->guid == snapshot->guid &&
		    strcmp(req->snapshots[i]->name, snapshot->name) == 0)
			return true;
	return false;
}

char *thin_word(struct arena *arena, const CopyState *copy, const ThinCopyRequest *req)
{
	char *word = NULL;

	for (size_t i = 1; i < copy->n_snapshots; i++) {
		const CopySnapshot *snapshot = copy->snapshots[i];
		if (!is_named(req, snapshot) || !snapshot->ours)
			continue;
		if (snapshot->kept)
			log_debug("a snapshot of a copy is held or has a clone, and stays",
				  log_str("copy", copy->name), log_str("snapshot", snapshot->name));
		else if (word)
			word = arena_printf(arena, "%s,%s", word, snapshot->name);
		else
			word = arena_printf(arena, "%s@%s", copy->name, snapshot->name);
	}
	return word;
}

static int thin_locked(struct rpc_call *call, const ThinCopyRequest *req, struct error *err)
{
	const struct node *node = call->app;
	CopyState *copy;

	if (replica_read_all(&call->arena, catalog_parent(node->catalog), req->id, &copy, err) < 0)
		return -1;
	if (!copy)
		return 0;
	if (replica_check_lineage(copy, req->lineage, req->id, err) < 0 ||
	    replica_check_known_caller(call->caller, copy, req->id, err) < 0 ||
	    replica_check_epoch(copy, req->epoch, req->id, err) < 0)
		return -1;
	const char *word = thin_word(&call->arena, copy, req);
	if (!word || zfs_destroy(word, err) == 0)
		return 0;
	return err->code == ERR_NOT_FOUND ? 0 : -1;
}

static int thin(struct rpc_call *call, const ThinCopyRequest *req, struct error *err)
{
	const struct node *node = call->app;
	const char *name = replica_name(&call->arena, catalog_parent(node->catalog), req->id);
	const char *key = replica_key(&call->arena, name);

	if (catalog_lock_key(node->catalog, now_ms(), key, err) < 0)
		return fail(err, ERR_ABORTED, "a stream is received into it; try again after that");
	int failed = thin_locked(call, req, err);
	catalog_unlock_key(node->catalog, key);
	return failed;
}

int thin_copy(struct rpc_call *call, const ThinCopyRequest *req, ThinCopyResponse *rsp,
	      struct error *err)
{
	const struct node *node = call->app;

	(void)rsp;
	if (request_text(req->id, "id", err) < 0 ||
	    node_need_pool(call, "the copy of volume", req->id, err) < 0)
		return -1;
	if (req->n_snapshots > THIN_MOST)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "%zu snapshots are named of the copy of volume '%s'; name at most %d",
			    req->n_snapshots, req->id, THIN_MOST);
	if (thin(call, req, err) == 0)
		return 0;
	return fail_context(err, "the copy of volume '%s' on node '%s' keeps old snapshots",
			    req->id, node->id);
}
