/* SPDX-License-Identifier: MPL-2.0 */
/*
 * DetachDataset and GetDatasetDetach of zcsi.v1.Agent: a clone becomes a volume that depends on no
 * other one.
 *
 * `zfs promote` would take the snapshots of the origin away from their volume. So data is copied
 * (detach.h).
 *
 * Invariant: a call returns at once; the data is copied by the detacher. A volume that cannot be
 * detached is refused here, with the reason.
 */
#include "node/change/detach.h"

#include <string.h>

#include "node/agent/agent.h"
#include "node/change/detacher.h"
#include "node/service.h"
#include "node/stream/copies.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_run.h"

static int check_zfs(struct error *err)
{
	if (!ssh_server() && zfs_is_the_kernels())
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "this needs OpenZFS on the host of zcsi-node: make a new volume of it with "
		    "'zcsi send' and 'zcsi receive', and use that");
}

static int begin(struct rpc_call *call, const DetachDatasetRequest *req, DetachDatasetResponse *rsp,
		 struct error *err)
{
	const struct node *node = call->app;
	struct detach_room room = {0};
	struct dataset *volume;
	size_t children;
	char *mark;

	if (node_find(call, req->id, &volume, err) < 0 || check_zfs(err) < 0)
		return -1;
	volume = agent_prove(&call->arena, catalog_parent(node->catalog), volume, &children, err);
	if (!volume || detach_read(&call->arena, volume->name, &rsp->origin, &mark, err) < 0)
		return -1;
	if (*rsp->origin && detach_check(call, volume, children, &room, err) < 0)
		return -1;
	rsp->size = room.size;
	rsp->available = room.available;
	if (req->check || (!*rsp->origin && !*mark))
		return 0;
	rsp->running = true;
	return detacher_begin(node->copies->detacher, req->id, err);
}

int detach_dataset(struct rpc_call *call, const DetachDatasetRequest *req,
		   DetachDatasetResponse *rsp, struct error *err)
{
	const struct node *node = call->app;
	struct error ignored;

	if (request_text(req->id, "id", err) < 0 ||
	    node_need_pool(call, "volume", req->id, err) < 0)
		return -1;
	rsp->running = detacher_look(node->copies->detacher, req->id, &ignored) == DETACHER_RUNS;
	if (rsp->running || begin(call, req, rsp, err) == 0)
		return 0;
	return fail_context(err, "volume '%s' is not detached from its origin", req->id);
}

int get_dataset_detach(struct rpc_call *call, const GetDatasetDetachRequest *req,
		       GetDatasetDetachResponse *rsp, struct error *err)
{
	const struct node *node = call->app;
	struct error why;

	if (request_text(req->id, "id", err) < 0 ||
	    node_need_pool(call, "volume", req->id, err) < 0)
		return -1;
	switch (detacher_look(node->copies->detacher, req->id, &why)) {
	case DETACHER_NONE:
		return fail(err, ERR_NOT_FOUND,
			    "zcsi-node was started again meanwhile; run 'zcsi detach %s' again",
			    req->id);
	case DETACHER_RUNS:
		rsp->running = true;
		return 0;
	case DETACHER_ENDED:
		rsp->code = (int32_t)why.code;
		rsp->error = arena_strdup(&call->arena, why.code == ERR_OK ? "" : why.text);
	}
	return 0;
}
