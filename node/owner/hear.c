/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Hear of zcsi.v1.Replica, and ListCopies of zcsi.v1.Copy: what a host with copies has recorded of
 * their owners.
 *
 * Invariant: a node that has accepted a later owner returns it in each Hear of the earlier owner,
 * and records nothing of the earlier owner any more.
 */
#include <string.h>

#include "common/clock.h"
#include "node/host/moves.h"
#include "node/host/node.h"
#include "node/owner/heard.h"
#include "node/owner/known.h"
#include "node/record/ownership.h"
#include "node/replica/held.h"
#include "node/replica/replica.h"
#include "node/service.h"

/* Returns the owner since a later epoch than that of the volume; NULL if none is known here. */
static NewerOwner *newer_than(struct arena *arena, const OwnedVolume *volume, const char *node,
			      int64_t epoch)
{
	if (epoch <= volume->epoch)
		return NULL;
	NewerOwner *newer = new_newer_owner(arena);
	newer->id = volume->id;
	newer->node_id = arena_strdup(arena, node);
	newer->epoch = epoch;
	return newer;
}

/*
 * Returns the later owner according to the volume `ours`, which this host has too; NULL if there is
 * none.
 */
static NewerOwner *judge_volume(struct rpc_call *call, const OwnedVolume *theirs,
				const struct dataset *ours)
{
	const struct node *node = call->app;
	const struct ownership ownership = ownership_parse(&call->arena, ours->owner);
	if (ownership.newer_epoch)
		return newer_than(&call->arena, theirs, ownership.newer, ownership.newer_epoch);
	return newer_than(&call->arena, theirs, node->id, ours->epoch);
}

/*
 * Returns the later owner according to the copy on this host, or to an earlier Hear: a later owner
 * may have called Hear before its first push to this copy. If there is none, record what the caller
 * sent.
 */
static NewerOwner *judge_copy(struct rpc_call *call, const HearRequest *req,
			      const OwnedVolume *theirs, const CopyState *copy)
{
	const struct node *node = call->app;
	const struct heard_row row = {.id = theirs->id,
				      .lineage = theirs->lineage,
				      .owner = req->node_id,
				      .epoch = theirs->epoch,
				      .synced = theirs->synced,
				      .at = wall_us(),
				      .at_ms = now_ms()};

	struct heard_row before;

	NewerOwner *newer = newer_than(&call->arena, theirs, copy->accepted_node_id, copy->epoch);
	if (!newer && heard_get(node->heard, &call->arena, theirs->id, theirs->lineage, &before))
		newer = newer_than(&call->arena, theirs, before.owner, before.epoch);
	if (!newer)
		heard_put(node->heard, &row);
	return newer;
}

/* Add the answer for one volume of the request to *rsp. */
static int judge(struct rpc_call *call, const HearRequest *req, const OwnedVolume *theirs,
		 const struct held_list *held, HearResponse *rsp, struct error *err)
{
	const CopyState *copy = held_find(held, theirs->id);
	bool has_copy = copy && strcmp(copy->lineage, theirs->lineage) == 0;
	struct dataset *ours = NULL;

	if (!has_copy && known_volume(call, theirs->id, theirs->lineage, &ours, err) < 0)
		return -1;
	if (!has_copy && !ours)
		return 0;
	NewerOwner *newer =
		ours ? judge_volume(call, theirs, ours) : judge_copy(call, req, theirs, copy);
	rsp->ids[rsp->n_ids++] = theirs->id;
	if (newer)
		rsp->newer[rsp->n_newer++] = newer;
	return 0;
}

/* Read the copies, if there can be any. */
static int read_copies(struct rpc_call *call, bool snapshots, struct held_list *ret,
		       struct error *err)
{
	const struct node *node = call->app;

	*ret = (struct held_list){.n = 0};
	if (!held_possible())
		return 0;
	return held_read(&call->arena, catalog_parent(node->catalog), snapshots, ret, err);
}

int hear(struct rpc_call *call, const HearRequest *req, HearResponse *rsp, struct error *err)
{
	const struct node *node = call->app;
	const char *const caller[] = {req->node_id};
	const char *first = req->n_volumes ? req->volumes[0]->id : "";
	struct held_list held;

	if (request_text(req->node_id, "node_id", err) < 0 ||
	    node_need_pool(call, "copy of", req->node_id, err) < 0 ||
	    replica_check_caller(call->caller, caller, 1, first, err) < 0 ||
	    moves_wait(node->moves, call->deadline, err) < 0 ||
	    read_copies(call, false, &held, err) < 0)
		return -1;
	rsp->ids = arena_alloc(&call->arena, (req->n_volumes + 1) * sizeof(*rsp->ids));
	rsp->newer = arena_alloc(&call->arena, (req->n_volumes + 1) * sizeof(*rsp->newer));
	for (size_t i = 0; i < req->n_volumes; i++)
		if (judge(call, req, req->volumes[i], &held, rsp, err) < 0)
			return -1;
	return 0;
}

/*
 * Returns a copy with its owner, if the owner has called Hear, and with the time until which it has
 * all data: the time that the owner sent, or that of the newest snapshot if it is later.
 */
static HeldCopy *describe(struct rpc_call *call, const struct held *held)
{
	const struct node *node = call->app;
	HeldCopy *copy = new_held_copy(&call->arena);
	struct heard_row row;

	copy->id = (char *)held->id;
	copy->copy = held->copy;
	if (held->copy->n_snapshots)
		copy->synced = held->copy->snapshots[0]->creation * 1000000;
	if (!heard_get(node->heard, &call->arena, held->id, held->copy->lineage, &row) ||
	    row.epoch != held->copy->epoch)
		return copy;
	copy->owner_node_id = (char *)row.owner;
	copy->heard = row.at;
	if (held->copy->n_snapshots && row.synced > copy->synced)
		copy->synced = row.synced;
	return copy;
}

int list_copies(struct rpc_call *call, const ListCopiesRequest *req, ListCopiesResponse *rsp,
		struct error *err)
{
	const struct node *node = call->app;
	struct held_list held;

	if (!node->catalog)
		return 0;
	if (read_copies(call, true, &held, err) < 0)
		return -1;
	rsp->copies = arena_alloc(&call->arena, (held.n + 1) * sizeof(*rsp->copies));
	for (size_t i = 0; i < held.n; i++)
		if (!*req->id || strcmp(req->id, held.rows[i].id) == 0)
			rsp->copies[rsp->n_copies++] = describe(call, &held.rows[i]);
	return 0;
}
