/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Replica.ThinCopy and Replica.DescribeCopy: the snapshots of a copy follow those of its owner.
 * Snapshots that the owner does not have any more are destroyed, and the others get the owner's
 * records.
 *
 * Invariant: a snapshot is changed only if the owner has named it and ZFS has just shown it with
 * the same guid, and while no stream is received. It is destroyed only if zcsi has made it, and if
 * it is not the newest one. If anything depends on it, ZFS refuses: the destroy is neither
 * recursive nor deferred.
 */
#include "node/replica/snapshots.h"

#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "node/catalog/change.h"
#include "node/host/node.h"
#include "node/replica/replica.h"
#include "node/service.h"
#include "node/zfs/zfs.h"

/* A call that changes snapshots of a copy. */
struct change {
	const char *id, *lineage; /* the volume's */
	int64_t epoch;            /* the owner's */
	size_t n;                 /* snapshots that are named */
	/* Change a copy as it was just read; NULL: there is none. Returns 0, or -1 with *err. */
	int (*fn)(struct arena *arena, const CopyState *copy, const void *request,
		  struct error *err);
	const void *request;
};

static int change_locked(struct rpc_call *call, const struct change *change, struct error *err)
{
	const struct node *node = call->app;
	CopyState *copy;

	if (replica_read_all(&call->arena, catalog_parent(node->catalog), change->id, &copy, err) <
	    0)
		return -1;
	if (copy && (replica_check_lineage(copy, change->lineage, change->id, err) < 0 ||
		     replica_check_known_caller(call->caller, copy, change->id, err) < 0 ||
		     replica_check_epoch(copy, change->epoch, change->id, err) < 0))
		return -1;
	return change->fn(&call->arena, copy, change->request, err);
}

static int change(struct rpc_call *call, const struct change *change, struct error *err)
{
	const struct node *node = call->app;

	if (request_text(change->id, "id", err) < 0 ||
	    node_need_pool(call, "the copy of volume", change->id, err) < 0)
		return -1;
	if (change->n > SNAPSHOTS_MOST)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "%zu snapshots are named of the copy of volume '%s'; name at most %d",
			    change->n, change->id, SNAPSHOTS_MOST);
	const char *name = replica_name(&call->arena, catalog_parent(node->catalog), change->id);
	const char *key = replica_key(&call->arena, name);
	if (catalog_lock_key(node->catalog, now_ms(), key, err) < 0)
		return fail(err, ERR_ABORTED,
			    "a stream is received into '%s'; try again after that", name);
	int failed = change_locked(call, change, err);
	catalog_unlock_key(node->catalog, key);
	return failed;
}

/* ThinCopy: destroying snapshots */

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
			log_debug("cannot destroy a snapshot of a copy: it is held or has a clone",
				  log_str("copy", copy->name), log_str("snapshot", snapshot->name));
		else if (word)
			word = arena_printf(arena, "%s,%s", word, snapshot->name);
		else
			word = arena_printf(arena, "%s@%s", copy->name, snapshot->name);
	}
	return word;
}

static int thin(struct arena *arena, const CopyState *copy, const void *request, struct error *err)
{
	const char *word = copy ? thin_word(arena, copy, request) : NULL;

	if (!word || zfs_destroy(word, err) == 0)
		return 0;
	return err->code == ERR_NOT_FOUND ? 0 : -1;
}

int thin_copy(struct rpc_call *call, const ThinCopyRequest *req, ThinCopyResponse *rsp,
	      struct error *err)
{
	const struct node *node = call->app;
	const struct change thinning = {.id = req->id,
					.lineage = req->lineage,
					.epoch = req->epoch,
					.n = req->n_snapshots,
					.fn = thin,
					.request = req};

	(void)rsp;
	if (change(call, &thinning, err) == 0)
		return 0;
	return fail_context(err, "the copy of volume '%s' on node '%s' keeps old snapshots",
			    req->id, node->id);
}

/* DescribeCopy: recording snapshots */

int replica_check_record(const SnapshotRecord *record, struct error *err)
{
	if (record->n_properties > ZFS_PROPERTIES_MAX)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "%zu properties are named of snapshot '%s'; name at most %d",
			    record->n_properties, record->name, ZFS_PROPERTIES_MAX);
	for (size_t i = 0; i < record->n_properties; i++)
		if (strncmp(record->properties[i]->name, "zcsi:", 5) != 0)
			return fail(err, ERR_INVALID_ARGUMENT,
				    "'%s' of snapshot '%s' is no property of a record",
				    record->properties[i]->name, record->name);
	return 0;
}

static CopySnapshot *find(const CopyState *copy, const char *name, uint64_t guid)
{
	for (size_t i = 0; copy && i < copy->n_snapshots; i++)
		if (copy->snapshots[i]->guid == guid && !strcmp(copy->snapshots[i]->name, name))
			return copy->snapshots[i];
	return NULL;
}

int replica_record(struct arena *arena, const CopyState *copy, const SnapshotRecord *record,
		   struct error *err)
{
	CopySnapshot *snapshot = find(copy, record->name, record->guid);
	struct zfs_properties properties = {.n = 0};

	if (!copy || !snapshot)
		return fail(err, ERR_ABORTED, "the copy has no snapshot '%s' with guid %" PRIu64,
			    record->name, record->guid);
	for (size_t i = 0; i < record->n_properties; i++)
		zfs_property(&properties, record->properties[i]->name,
			     record->properties[i]->value);
	if (zfs_set(arena_printf(arena, "%s@%s", copy->name, record->name), &properties, err) < 0)
		return -1;
	snapshot->ours |= record->n_properties > 0;
	return 0;
}

static int describe(struct arena *arena, const CopyState *copy, const void *request,
		    struct error *err)
{
	const DescribeCopyRequest *req = request;

	for (size_t i = 0; i < req->n_snapshots; i++)
		if (replica_record(arena, copy, req->snapshots[i], err) < 0)
			return -1;
	return 0;
}

static int check_records(const DescribeCopyRequest *req, struct error *err)
{
	for (size_t i = 0; i < req->n_snapshots; i++)
		if (replica_check_record(req->snapshots[i], err) < 0)
			return -1;
	return 0;
}

int describe_copy(struct rpc_call *call, const DescribeCopyRequest *req, DescribeCopyResponse *rsp,
		  struct error *err)
{
	const struct node *node = call->app;
	const struct change describing = {.id = req->id,
					  .lineage = req->lineage,
					  .epoch = req->epoch,
					  .n = req->n_snapshots,
					  .fn = describe,
					  .request = req};

	(void)rsp;
	if (check_records(req, err) == 0 && change(call, &describing, err) == 0)
		return 0;
	return fail_context(err, "the copy of volume '%s' on node '%s' lacks records of snapshots",
			    req->id, node->id);
}
