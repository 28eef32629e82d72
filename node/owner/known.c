/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Looking up volumes by lineage, and FindBase of zcsi.v1.Replica, which a host calls that returns
 * after a failover.
 *
 * Invariant: a deleted volume is known as long as a copy of it may be left somewhere, so a host
 * that returns does not bring it back.
 */
#include "node/owner/known.h"

#include <string.h>

#include "node/catalog/change.h"
#include "node/copy/history.h"
#include "node/host/node.h"
#include "node/host/owner.h"
#include "node/record/members.h"
#include "node/replica/replica.h"
#include "node/service.h"

static bool is_of(struct arena *arena, const struct dataset *volume, const char *lineage)
{
	struct members members;

	return members_parse(arena, volume->members, &members) &&
	       strcmp(members.lineage, lineage) == 0;
}

static struct dataset *find_deleted(struct rpc_call *call, const char *id, const char *lineage)
{
	const struct node *node = call->app;
	struct dataset_list volumes;

	catalog_trashed_of(node->catalog, &call->arena, id, &volumes);
	for (size_t i = 0; i < volumes.n; i++)
		if (is_of(&call->arena, volumes.rows[i], lineage))
			return volumes.rows[i];
	return NULL;
}

int known_volume(struct rpc_call *call, const char *id, const char *lineage, struct dataset **ret,
		 struct error *err)
{
	const struct node *node = call->app;

	if (catalog_get(node->catalog, call->deadline, &call->arena, id, ret, err) < 0) {
		if (err->code != ERR_NOT_FOUND)
			return -1;
	} else if (is_of(&call->arena, *ret, lineage)) {
		return 0;
	}
	*ret = find_deleted(call, id, lineage);
	return 0;
}

/*
 * Check that the caller is a member or an owed node. An owed node, one that was replaced, may have
 * owned the volume once, and calls FindBase to make way.
 */
static int check_caller(struct rpc_call *call, const struct members *members, const char *id,
			struct error *err)
{
	struct error ignored;

	if (replica_check_caller(call->caller, members->owed, members->n_owed, id, &ignored) == 0)
		return 0;
	return replica_check_caller(call->caller, members->nodes, members->n, id, err);
}

/* Find the volume, and check that the caller may ask for it. */
static int find(struct rpc_call *call, const FindBaseRequest *req, struct dataset **ret,
		struct error *err)
{
	const struct node *node = call->app;
	struct members members;

	if (known_volume(call, req->id, req->lineage, ret, err) < 0)
		return -1;
	if (!*ret)
		return fail(err, ERR_NOT_FOUND, "node '%s' does not have volume '%s'", node->id,
			    req->id);
	members_parse(&call->arena, (*ret)->members, &members);
	return check_caller(call, &members, req->id, err);
}

/*
 * Check that the caller counts as a member, before it makes its volume a copy. Otherwise, if this
 * host were declared lost next and the caller took the volume over, this host would not wait for
 * its answer after a boot, and there would be two owners. It counts after its next answer to Hear
 * (owner/outcome.c).
 */
static int check_counts(struct rpc_call *call, const FindBaseRequest *req,
			const struct dataset *volume, struct error *err)
{
	const struct node *node = call->app;
	const struct ownership ownership = ownership_parse(&call->arena, volume->owner);

	if (owner_check(node, volume, err) < 0)
		return -1;
	if (!ownership_has_lost(&ownership, req->node_id))
		return 0;
	return fail(err, ERR_UNAVAILABLE,
		    "node '%s' was declared lost, and node '%s' is to count it as a member of "
		    "volume '%s' again first: try again",
		    req->node_id, node->id, req->id);
}

/*
 * Find the volume, and check that this host owns it. A deleted volume needs no such check: it is
 * not used any more, and its members confirm no owner.
 */
static int find_owned(struct rpc_call *call, const FindBaseRequest *req, struct dataset **ret,
		      struct error *err)
{
	const struct node *node = call->app;
	int waited;

	do {
		if (find(call, req, ret, err) < 0)
			return -1;
		if (dataset_is_trash(catalog_parent(node->catalog), (*ret)->name))
			return 0;
		waited = owner_wait(node, *ret, call->deadline, err);
	} while (waited > 0);
	return waited < 0 ? -1 : check_counts(call, req, *ret, err);
}

int find_base(struct rpc_call *call, const FindBaseRequest *req, FindBaseResponse *rsp,
	      struct error *err)
{
	struct history history;
	struct dataset *volume;

	if (request_text(req->id, "id", err) < 0 ||
	    node_need_pool(call, "volume", req->id, err) < 0 ||
	    find_owned(call, req, &volume, err) < 0 ||
	    history_read(&call->arena, volume->name, &history, err) < 0)
		return -1;
	for (size_t i = 0; i < req->n_guids && !rsp->guid; i++)
		if (history_find(&history, req->guids[i]))
			rsp->guid = req->guids[i];
	return 0;
}
