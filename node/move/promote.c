/* SPDX-License-Identifier: MPL-2.0 */
/*
 * GetMove and Promote of zcsi.v1.Replica: the former owner of a volume, and the next one.
 *
 * Invariant: a copy becomes the volume only after this node has called GetMove of the former owner,
 * one of the nodes that are recorded with the copy, and the owner has read in its pool that it gave
 * the volume up for this node, at this epoch, with the snapshot that the copy ends with. An epoch
 * is used once: a node that has given the volume up takes it only at a later epoch.
 */
#include <inttypes.h>
#include <string.h>

#include "node/move/ask.h"
#include "node/move/rules.h"
#include "node/move/take.h"
#include "node/replica/replica.h"
#include "node/service.h"
#include "node/zfs/zfs.h"

/* GetMove, on the former owner */

int get_move(struct rpc_call *call, const GetMoveRequest *req, GetMoveResponse *rsp,
	     struct error *err)
{
	const char *const caller[] = {req->node_id};
	const struct node *node = call->app;
	const struct place_snapshot *end;
	struct place place;

	if (request_text(req->node_id, "node_id", err) < 0 ||
	    replica_check_caller(call->caller, caller, 1, req->id, err) < 0 ||
	    take_read(call, req->id, &place, err) < 0 ||
	    rules_given_up(node->id, &place, req, &end, err) < 0)
		return -1;
	rsp->epoch = end->epoch;
	rsp->guid = end->guid;
	rsp->lineage = arena_strdup(&call->arena, place.members.lineage);
	return 0;
}

/* Promote, on the next owner */

/*
 * Ask the former owner whether it has given the volume up. If the request is only a check, which
 * comes before that, it is enough that the owner answers.
 */
static int ask_owner(struct rpc_call *call, const PromoteRequest *req, struct error *err)
{
	const struct node *node = call->app;
	GetMoveRequest *request = new_get_move_request(&call->arena);
	const GetMoveResponse *says;

	request->id = req->id;
	request->node_id = arena_strdup(&call->arena, node->id);
	if (ask_node(node, req->from_node_id, &call->arena, "GetMove", &request->base, &says, err) <
	    0) {
		if (req->check && err->code == ERR_FAILED_PRECONDITION)
			return 0;
		return fail_context(err, "node '%s', which is to confirm it", req->from_node_id);
	}
	if (says->epoch == req->epoch && says->guid == req->guid &&
	    strcmp(says->lineage, req->lineage) == 0)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "node '%s' has given it up at epoch %" PRId64 ", not %" PRId64
		    ", or with another snapshot",
		    req->from_node_id, says->epoch, req->epoch);
}

/*
 * Give the copy of a zvol the owner's reservation before the owner gives the volume up, and end a
 * reservation that the owner does not have. For a filesystem the pushes make the reservation, but
 * they end none.
 */
static int reserve(const struct place *place, const PromoteRequest *req, struct error *err)
{
	struct zfs_properties properties = {.n = 0};

	if (req->reserved ? place->device == DEVICE_NONE : !place->reserved)
		return 0;
	zfs_property(&properties, "refreservation", req->reserved ? "auto" : "none");
	return zfs_set(place->name, &properties, err);
}

static int promote_copy(struct rpc_call *call, const PromoteRequest *req, struct error *err)
{
	const struct node *node = call->app;
	struct place place;

	if (take_read(call, req->id, &place, err) < 0)
		return -1;
	if (place.role == PLACE_PRIMARY && place.epoch >= req->epoch &&
	    strcmp(place.members.lineage, req->lineage) == 0)
		return take_finish(call, place.name, place.device == DEVICE_HIDDEN, err);
	if (rules_take(node->id, &place, req, err) < 0 ||
	    take_check_unused(&call->arena, &place, err) < 0 || ask_owner(call, req, err) < 0)
		return -1;
	if (req->check)
		return reserve(&place, req, err);
	const struct take take = {.id = req->id,
				  .epoch = req->epoch,
				  .copies = req->copies,
				  .n_copies = req->n_copies};
	return take_over(call, &take, &place, err);
}

int promote(struct rpc_call *call, const PromoteRequest *req, PromoteResponse *rsp,
	    struct error *err)
{
	const char *const caller[] = {req->from_node_id};
	const struct node *node = call->app;

	(void)rsp;
	if (request_text(req->from_node_id, "from_node_id", err) < 0 ||
	    replica_check_caller(call->caller, caller, 1, req->id, err) < 0)
		return -1;
	if (promote_copy(call, req, err) == 0)
		return 0;
	return fail_context(err, "volume '%s' cannot be taken by node '%s'", req->id, node->id);
}
