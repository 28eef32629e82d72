/* SPDX-License-Identifier: MPL-2.0 */
/*
 * StartMove, CancelMove and ListMoves of zcsi.v1.Copy.
 *
 * Invariant: StartMove refuses at once what cannot be, with the reason; what happens later is in
 * ListMoves.
 */
#include "node/host/moves.h"
#include "node/move/mover.h"
#include "node/move/ready.h"
#include "node/service.h"
#include "node/stream/copies.h"

int start_move(struct rpc_call *call, const StartMoveRequest *req, StartMoveResponse *rsp,
	       struct error *err)
{
	const struct node *node = call->app;
	struct dataset *volume;

	(void)rsp;
	if (request_text(req->id, "id", err) < 0 || request_text(req->node_id, "node_id", err) < 0)
		return -1;
	if (node_need_pool(call, "volume", req->id, err) < 0 ||
	    moves_wait(node->moves, call->deadline, err) < 0)
		return -1;
	if (mover_moves(node->copies->mover, req->id, req->node_id))
		return 0;
	if (node_find(call, req->id, &volume, err) < 0)
		return -1;
	if (ready_check(node, &call->arena, req->id, req->node_id, err) == 0 &&
	    mover_begin(node->copies->mover, req->id, req->node_id, err) == 0)
		return 0;
	return fail_context(err, "volume '%s' cannot move to node '%s'", req->id, req->node_id);
}

int cancel_move(struct rpc_call *call, const CancelMoveRequest *req, CancelMoveResponse *rsp,
		struct error *err)
{
	const struct node *node = call->app;

	(void)rsp;
	if (request_text(req->id, "id", err) < 0 ||
	    node_need_pool(call, "volume", req->id, err) < 0)
		return -1;
	return mover_cancel(node->copies->mover, req->id, call->deadline, err);
}

int list_moves(struct rpc_call *call, const ListMovesRequest *req, ListMovesResponse *rsp,
	       struct error *err)
{
	const struct node *node = call->app;

	(void)err;
	if (node->catalog)
		rsp->moves = mover_list(node->copies->mover, &call->arena, req->id, &rsp->n_moves);
	return 0;
}
