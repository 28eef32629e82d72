/* SPDX-License-Identifier: MPL-2.0 */
/*
 * AddMember, RemoveMember, Push, Pause, Resume and ListPushes of zcsi.v1.Copy, by which operators
 * change the copies of a volume.
 *
 * Invariant: the pusher is woken after each change, once the catalog has it.
 */
#include <string.h>

#include "common/clock.h"
#include "node/copy/membership.h"
#include "node/copy/pusher.h"
#include "node/service.h"
#include "node/stream/copies.h"

static int find(struct rpc_call *call, const char *id, struct push *ret, struct error *err)
{
	struct dataset *volume;

	if (request_text(id, "id", err) < 0 || node_find(call, id, &volume, err) < 0)
		return -1;
	return membership_push(call, volume, ret, err);
}

/* *ret is a push of the volume to a node, which need not be one of its members. */
static int find_to(struct rpc_call *call, const char *id, const char *to, struct push *ret,
		   struct error *err)
{
	if (request_text(to, "node_id", err) < 0 || find(call, id, ret, err) < 0)
		return -1;
	ret->to = to;
	return 0;
}

int add_member(struct rpc_call *call, const AddMemberRequest *req, AddMemberResponse *rsp,
	       struct error *err)
{
	const struct node *node = call->app;
	struct push push;

	(void)rsp;
	if (find_to(call, req->id, req->node_id, &push, err) < 0 ||
	    membership_admit(&push, req->every, err) < 0)
		return -1;
	push.rules.nodes = 0;
	if (push_rules_take_bandwidth(&push.rules, req->bandwidth, err) < 0 ||
	    membership_record(&push, &push.members, err) < 0)
		return fail_context(err, "volume '%s' cannot have a copy on node '%s'", req->id,
				    req->node_id);
	pusher_push(node->copies->pusher, req->id);
	return 0;
}

int remove_member(struct rpc_call *call, const RemoveMemberRequest *req, RemoveMemberResponse *rsp,
		  struct error *err)
{
	struct push push;

	(void)rsp;
	if (find_to(call, req->id, req->node_id, &push, err) < 0)
		return -1;
	if (!members_have(&push.members, req->node_id) && !members_owe(&push.members, req->node_id))
		return 0;
	if (membership_end(&push, req->gone, err) == 0)
		return 0;
	return fail_context(err, "the copy of volume '%s' on node '%s' is not dropped", req->id,
			    req->node_id);
}

int push_now(struct rpc_call *call, const PushRequest *req, PushResponse *rsp, struct error *err)
{
	const struct node *node = call->app;

	if (request_text(req->id, "id", err) < 0 ||
	    node_need_pool(call, "volume", req->id, err) < 0)
		return -1;
	if (pusher_is_paused(node->copies->pusher, req->id))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "volume '%s' is paused, so its copies get no data; run 'zcsi resume "
			    "%s'",
			    req->id, req->id);
	rsp->time = wall_us();
	pusher_push(node->copies->pusher, req->id);
	return 0;
}

int pause_pushes(struct rpc_call *call, const PauseRequest *req, PauseResponse *rsp,
		 struct error *err)
{
	struct push push;

	(void)rsp;
	if (find(call, req->id, &push, err) < 0)
		return -1;
	if (!push.members.n)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "volume '%s' has no copies that could be paused; 'zcsi copy add %s "
			    "NODE' adds one",
			    req->id, req->id);
	push.rules.paused = true;
	if (membership_record(&push, NULL, err) < 0)
		return fail_context(err, "volume '%s' is not paused", req->id);
	pusher_look(push.node->copies->pusher);
	return 0;
}

int resume_pushes(struct rpc_call *call, const ResumeRequest *req, ResumeResponse *rsp,
		  struct error *err)
{
	const struct node *node = call->app;
	struct push push;

	(void)rsp;
	if (find(call, req->id, &push, err) < 0)
		return -1;
	if (!push.rules.paused)
		return 0;
	push.rules.paused = false;
	if (membership_record(&push, NULL, err) < 0)
		return fail_context(err, "volume '%s' stays paused", req->id);
	pusher_push(node->copies->pusher, req->id);
	return 0;
}

int list_pushes(struct rpc_call *call, const ListPushesRequest *req, ListPushesResponse *rsp,
		struct error *err)
{
	const struct node *node = call->app;
	size_t n;

	(void)err;
	rsp->time = wall_us();
	if (!node->catalog)
		return 0;
	const struct pushed *rows = pusher_list(node->copies->pusher, &call->arena, &n);
	rsp->pushes = arena_alloc(&call->arena, (n + 1) * sizeof(*rsp->pushes));
	for (size_t i = 0; i < n; i++) {
		PushState *row = new_push_state(&call->arena);
		if (*req->id && strcmp(rows[i].id, req->id) != 0)
			continue;
		row->id = (char *)rows[i].id;
		row->node_id = (char *)rows[i].to;
		row->running = rows[i].running;
		row->deleted = rows[i].deleted;
		row->paused = rows[i].paused;
		row->owed = rows[i].owed;
		row->every = rows[i].every;
		row->synced = rows[i].synced;
		row->unsent = rows[i].unsent < 0 ? 0 : rows[i].unsent;
		row->unsent_known = rows[i].unsent >= 0;
		row->failed = rows[i].failed;
		row->error = (char *)rows[i].error;
		row->sent = (int64_t)rows[i].sent;
		row->total = (int64_t)rows[i].total;
		row->sending_ms = rows[i].sending_ms;
		rsp->pushes[rsp->n_pushes++] = row;
	}
	return 0;
}
