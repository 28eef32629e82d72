/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Accept of zcsi.v1.Replica: the copies that survive a failover.
 *
 * Invariant: a copy is promised to one node at an epoch, and no stream of an earlier owner comes
 * into it after that (replica_check_epoch). A copy whose newest snapshot the next owner lacks is
 * not promised, so no data of a surviving copy is lost. No copy is promised while this node reaches
 * a lost node that has the volume, or gets calls from it.
 */
#include "node/owner/accept.h"

#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "node/catalog/change.h"
#include "node/owner/silent.h"
#include "node/record/members.h"
#include "node/record/ownership.h"
#include "node/replica/replica.h"
#include "node/service.h"
#include "node/zfs/zfs.h"

#define LOCK_MS 5000 /* for the end of a stream to the copy */

static int record(struct arena *arena, const char *dataset, const char *node, int64_t epoch,
		  struct error *err)
{
	struct zfs_properties properties = {.n = 0};

	zfs_property(&properties, "zcsi:accepted", mark_format(arena, node, epoch));
	zfs_property(&properties, "zcsi:epoch", arena_printf(arena, "%" PRId64, epoch));
	return zfs_set(dataset, &properties, err);
}

static bool has_guid(const AcceptRequest *req, uint64_t guid)
{
	for (size_t i = 0; i < req->n_guids; i++)
		if (req->guids[i] == guid)
			return true;
	return false;
}

int accept_check(const CopyState *copy, const AcceptRequest *req, struct error *err)
{
	const char *to = copy->accepted_node_id;

	if (copy->epoch == req->epoch && strcmp(to, req->node_id) == 0)
		return 0;
	if (copy->epoch >= req->epoch)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "the copy '%s' is of epoch %" PRId64 "%s%s%s already: another "
			    "failover of volume '%s' runs, or has ended; see 'zcsi list'",
			    copy->name, copy->epoch, *to ? ", for node '" : "", to, *to ? "'," : "",
			    req->id);
	if (copy->n_snapshots && !has_guid(req, copy->snapshots[0]->guid))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "the copy '%s' is at a snapshot that node '%s' lacks: if it is the "
			    "newer copy, fail over to this node instead, and move the volume after "
			    "that; else name this node with '--lost' too, and then drop its copy "
			    "and add it again",
			    copy->name, req->node_id);
	return 0;
}

static int accept_copy(struct rpc_call *call, const AcceptRequest *req, AcceptResponse *rsp,
		       struct error *err)
{
	const struct node *node = call->app;
	CopyState *copy;

	if (replica_read(&call->arena, catalog_parent(node->catalog), req->id, &copy, err) < 0)
		return -1;
	if (!copy)
		return 0;
	if (replica_check_lineage(copy, req->lineage, req->id, err) < 0 ||
	    replica_check_known_caller(call->caller, copy, req->id, err) < 0 ||
	    accept_check(copy, req, err) < 0)
		return -1;
	rsp->guid = copy->n_snapshots ? copy->snapshots[0]->guid : 0;
	if (req->check)
		return 0;
	return record(&call->arena, copy->name, req->node_id, req->epoch, err);
}

/*
 * Check that the lost nodes do not answer. A lost node that the operator and the next owner do not
 * reach may be reached by this node.
 */
static int check_lost(struct rpc_call *call, const AcceptRequest *req, struct error *err)
{
	if (req->n_lost_node_ids > MEMBERS_MAX)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "%zu nodes are said to be lost, and volume '%s' is on %d at most",
			    req->n_lost_node_ids, req->id, MEMBERS_MAX);
	for (size_t i = 0; i < req->n_lost_node_ids; i++)
		if (silent_check(call, req->id, req->lineage, req->lost_node_ids[i], err) < 0)
			return -1;
	return 0;
}

int accept_owner(struct rpc_call *call, const AcceptRequest *req, AcceptResponse *rsp,
		 struct error *err)
{
	const struct node *node = call->app;
	const char *const caller[] = {req->node_id};

	if (request_text(req->id, "id", err) < 0 ||
	    request_text(req->node_id, "node_id", err) < 0 ||
	    node_need_pool(call, "the copy of volume", req->id, err) < 0 ||
	    replica_check_caller(call->caller, caller, 1, req->id, err) < 0 ||
	    replica_check_no_volume(node, call->deadline, req->id, err) < 0 ||
	    check_lost(call, req, err) < 0)
		return -1;
	const char *key = replica_key(
		&call->arena, replica_name(&call->arena, catalog_parent(node->catalog), req->id));
	if (catalog_lock_key(node->catalog, now_ms() + LOCK_MS, key, err) < 0)
		return -1;
	int failed = accept_copy(call, req, rsp, err);
	catalog_unlock_key(node->catalog, key);
	return failed;
}
