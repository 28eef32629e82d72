/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Confirm of zcsi.v1.Copy: an operator confirms that this host owns a volume, in place of the
 * members that do not answer.
 *
 * Invariant: a volume that another node took over cannot be confirmed. This host gets it back only
 * as a copy that takes it over, by a move or a failover.
 */
#include "common/log.h"
#include "node/catalog/change.h"
#include "node/export/exports.h"
#include "node/host/moves.h"
#include "node/host/owner.h"
#include "node/service.h"

int confirm_volume(struct rpc_call *call, const ConfirmRequest *req, ConfirmResponse *rsp,
		   struct error *err)
{
	const struct node *node = call->app;
	struct dataset *volume;

	(void)rsp;
	if (request_text(req->id, "id", err) < 0 ||
	    node_need_pool(call, "volume", req->id, err) < 0 ||
	    moves_check(node->moves, req->id, err) < 0 ||
	    catalog_get(node->catalog, call->deadline, &call->arena, req->id, &volume, err) < 0)
		return -1;
	if (owner_check(node, volume, err) == 0)
		return 0;
	if (ownership_parse(&call->arena, volume->owner).newer_epoch)
		return -1;
	if (owner_confirm(node, &call->arena, volume, err) < 0)
		return fail_context(err, "volume '%s' cannot be confirmed", req->id);
	if (exports_apply(&call->arena, node, volume, call->deadline, err) < 0)
		return -1;
	log_warn("ownership of a volume is confirmed by an operator, not by its nodes",
		 log_str("volume", req->id), log_str("by", req->by));
	return 0;
}
