/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Failover of zcsi.v1.Copy: a copy becomes the volume, because an operator has declared the owner
 * lost.
 *
 * Invariant: the copy becomes the volume only after each member that is not declared lost has
 * promised its copy to this node at the new epoch, has no data that this node's copy lacks, and
 * does not reach a lost node that has the volume. So no other node takes the volume over at that
 * epoch, and no surviving copy accepts streams of the lost owner any more. The epoch is higher by
 * EPOCH_FAILOVER than that of each copy, because the lost nodes may have used the next ones.
 */
#include "node/owner/failover.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/volume/epoch.h"
#include "node/catalog/change.h"
#include "node/host/node.h"
#include "node/move/ask.h"
#include "node/move/rules.h"
#include "node/move/take.h"
#include "node/owner/silent.h"
#include "node/record/ownership.h"
#include "node/replica/replica.h"
#include "node/service.h"

#define LOCK_MS   5000  /* time for a stream to the copy to end */
#define ACCEPT_MS 15000 /* time for another failover to end, without that for lost nodes */
#define GUIDS     8192

static bool is_lost(const FailoverRequest *req, const char *node)
{
	for (size_t i = 0; i < req->n_lost_node_ids; i++)
		if (strcmp(req->lost_node_ids[i], node) == 0)
			return true;
	return false;
}

static int check_lost(const char *our_id, const struct place *place, const FailoverRequest *req,
		      struct error *err)
{
	if (!req->n_lost_node_ids)
		return fail(err, ERR_INVALID_ARGUMENT, "no node is declared lost");
	if (is_lost(req, our_id))
		return fail(err, ERR_INVALID_ARGUMENT, "node '%s' is not lost: it was asked",
			    our_id);
	for (size_t i = 0; i < req->n_lost_node_ids; i++)
		if (!members_have(&place->members, req->lost_node_ids[i]))
			return fail(err, ERR_FAILED_PRECONDITION,
				    "node '%s' has no data of volume '%s'", req->lost_node_ids[i],
				    req->id);
	return 0;
}

int failover_check(const char *our_id, const struct place *place, const FailoverRequest *req,
		   struct error *err)
{
	const struct place_snapshot *end = place->n ? &place->snapshots[place->n - 1] : NULL;

	if (place->role != PLACE_COPY)
		return fail(err, ERR_FAILED_PRECONDITION, "node '%s' has no copy of it", our_id);
	if (strcmp(place->members.lineage, req->lineage) != 0)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is of another volume that had this name", place->name);
	if (check_lost(our_id, place, req, err) < 0)
		return -1;
	if (req->epoch < place->epoch + EPOCH_FAILOVER)
		return fail(err, ERR_ABORTED,
			    "'%s' is of epoch %" PRId64
			    " meanwhile; look with 'zcsi list', and run 'zcsi failover' again",
			    place->name, place->epoch);
	if (!end)
		return fail(err, ERR_FAILED_PRECONDITION, "'%s' is not complete", place->name);
	if (end->guid != req->guid)
		return fail(err, ERR_ABORTED,
			    "'%s' has other data than when it was looked at: run 'zcsi failover' "
			    "again",
			    place->name);
	return rules_usable(place, end, err);
}

/* Returns the request to the surviving nodes, with the guids of the newest snapshots here. */
static AcceptRequest *accept_request(struct rpc_call *call, const struct place *place,
				     const FailoverRequest *req)
{
	const struct node *node = call->app;
	AcceptRequest *request = new_accept_request(&call->arena);

	request->id = req->id;
	request->lineage = req->lineage;
	request->epoch = req->epoch;
	request->node_id = arena_strdup(&call->arena, node->id);
	request->lost_node_ids = req->lost_node_ids;
	request->n_lost_node_ids = req->n_lost_node_ids;
	request->guids = arena_alloc(&call->arena, GUIDS * sizeof(*request->guids));
	for (size_t i = place->n; i-- > 0 && request->n_guids < GUIDS;)
		request->guids[request->n_guids++] = place->snapshots[i].guid;
	return request;
}

static CopyPoint *point_of(struct arena *arena, const char *node, uint64_t guid)
{
	CopyPoint *point = new_copy_point(arena);

	point->node_id = (char *)node;
	point->guid = guid;
	return point;
}

/*
 * Call Accept of a surviving node. Before it answers, it calls each lost node for up to SILENT_MS.
 */
static int ask_survivor(const struct node *node, const char *survivor, struct arena *arena,
			const AcceptRequest *request, const AcceptResponse **ret, struct error *err)
{
	int64_t asking = SILENT_MS * (int64_t)request->n_lost_node_ids;

	if (ask_node_until(node, survivor, arena, "Accept", &request->base,
			   now_ms() + ACCEPT_MS + asking, ret, err) == 0)
		return 0;
	return fail_context(err, "node '%s', which has a copy too", survivor);
}

static bool is_survivor(const struct node *node, const FailoverRequest *req, const char *other)
{
	return strcmp(other, node->id) != 0 && !is_lost(req, other);
}

/*
 * If there are several surviving nodes, check first that all would promise their copies. One
 * promise alone would make a lost owner that is still alive give the volume up, though another node
 * refuses and the failover does not happen.
 */
static int check_all(struct rpc_call *call, const struct members *members,
		     const FailoverRequest *req, AcceptRequest *request, struct error *err)
{
	const struct node *node = call->app;
	const AcceptResponse *response;

	if (members->n < req->n_lost_node_ids + 3)
		return 0;
	request->check = true;
	for (size_t i = 0; i < members->n; i++)
		if (is_survivor(node, req, members->nodes[i]) &&
		    ask_survivor(node, members->nodes[i], &call->arena, request, &response, err) <
			    0)
			return -1;
	request->check = false;
	return 0;
}

/*
 * Have each surviving node promise its copy. *take gets the snapshots from which the pushes to the
 * other copies go on (of a lost node, the newest one of this copy, which a lost owner has too), and
 * the promise of the copy on this node.
 */
static int accept_all(struct rpc_call *call, const struct place *place, const FailoverRequest *req,
		      struct take *take, struct error *err)
{
	const struct node *node = call->app;
	const struct members *members = &place->members;
	AcceptRequest *request = accept_request(call, place, req);
	CopyPoint **points = arena_alloc(&call->arena, members->n * sizeof(*points));
	const AcceptResponse *response;

	if (check_all(call, members, req, request, err) < 0)
		return -1;
	take->copies = points;
	for (size_t i = 0; i < members->n; i++) {
		const char *other = members->nodes[i];
		uint64_t guid = req->guid;
		if (strcmp(other, node->id) == 0)
			continue;
		if (is_survivor(node, req, other)) {
			if (ask_survivor(node, other, &call->arena, request, &response, err) < 0)
				return -1;
			guid = response->guid;
		}
		if (guid)
			points[take->n_copies++] = point_of(&call->arena, other, guid);
	}
	take->accepted = mark_format(&call->arena, node->id, req->epoch);
	return 0;
}

static int check_silent(struct rpc_call *call, const FailoverRequest *req, struct error *err)
{
	for (size_t i = 0; i < req->n_lost_node_ids; i++)
		if (silent_check(call, req->id, req->lineage, req->lost_node_ids[i], err) < 0)
			return -1;
	return 0;
}

/*
 * Returns the value of zcsi:owner with which this node owns the volume without the confirmation of
 * the lost nodes.
 */
static char *owner_of(struct rpc_call *call, const FailoverRequest *req)
{
	const struct node *node = call->app;
	struct ownership ownership = {.boot = node->boot, .newer = ""};

	for (size_t i = 0; i < req->n_lost_node_ids; i++)
		ownership_lose(&ownership, req->lost_node_ids[i]);
	return ownership_format(&call->arena, &ownership);
}

/* Returns the value of zcsi:failover, a text for operators that no program reads. */
static char *record_of(struct rpc_call *call, const FailoverRequest *req)
{
	struct arena *arena = &call->arena;
	char moment[UTC_SIZE], *lost = NULL;

	for (size_t i = 0; i < req->n_lost_node_ids; i++)
		lost = arena_printf(arena, "%s%s%s", lost ? lost : "", lost ? "," : "",
				    req->lost_node_ids[i]);
	return arena_printf(arena, "%s lost %s, accepted %" PRId64 " s by %.64s, epoch %" PRId64,
			    utc_text(moment, time(NULL)), lost, req->accepted_loss,
			    *req->by ? req->by : "?", req->epoch);
}

static int take(struct rpc_call *call, struct place *place, const FailoverRequest *req,
		struct error *err)
{
	const char *record = record_of(call, req);
	struct take take = {
		.id = req->id, .epoch = req->epoch, .owner = owner_of(call, req), .lost = record};

	if (accept_all(call, place, req, &take, err) < 0)
		return -1;
	log_warn("volume is being taken over", log_str("volume", req->id),
		 log_str("failover", record));
	return take_over(call, &take, place, err);
}

/* Discard what was received of a stream that the lost owner did not end. */
static int discard(struct place *place, struct error *err)
{
	const CopyState copy = {.name = (char *)place->name, .token = (char *)"?"};

	if (!place->token)
		return 0;
	if (replica_discard(&copy, err) < 0)
		return -1;
	place->token = false;
	return 0;
}

static int fail_over(struct rpc_call *call, const FailoverRequest *req, struct error *err)
{
	const struct node *node = call->app;
	struct dataset *volume;
	struct place place;

	if (take_read(call, req->id, &place, err) < 0)
		return -1;
	/*
	 * An earlier call has made this copy the volume. node_find refuses it if another node took
	 * it over since.
	 */
	if (place.role == PLACE_PRIMARY && strcmp(place.members.lineage, req->lineage) == 0)
		return take_finish(call, place.name, place.device == DEVICE_HIDDEN, err) < 0
			       ? -1
			       : node_find(call, req->id, &volume, err);
	if (failover_check(node->id, &place, req, err) < 0 ||
	    take_check_unused(&call->arena, &place, err) < 0 || check_silent(call, req, err) < 0)
		return -1;
	const char *key = replica_key(&call->arena, place.name);
	if (catalog_lock_key(node->catalog, now_ms() + LOCK_MS, key, err) < 0)
		return -1;
	int failed = discard(&place, err);
	if (!failed)
		failed = take(call, &place, req, err);
	catalog_unlock_key(node->catalog, key);
	return failed;
}

int failover(struct rpc_call *call, const FailoverRequest *req, FailoverResponse *rsp,
	     struct error *err)
{
	const struct node *node = call->app;

	(void)rsp;
	if (fail_over(call, req, err) == 0)
		return 0;
	return fail_context(err, "volume '%s' cannot be taken over by node '%s'", req->id,
			    node->id);
}
