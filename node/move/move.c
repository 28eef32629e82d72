/* SPDX-License-Identifier: MPL-2.0 */
/*
 * StartMove, CancelMove and ListMoves of zcsi.v1.Copy; MoveDataset and GetDatasetMove of
 * zcsi.v1.Agent, by which controllers do the same.
 *
 * Invariant: a move that is impossible is refused at once, with the reason. ListMoves and
 * GetDatasetMove report errors that come later.
 */
#include "node/copy/membership.h"
#include "node/host/moves.h"
#include "node/move/mover.h"
#include "node/move/ready.h"
#include "node/service.h"
#include "node/stream/copies.h"

static int begin(struct rpc_call *call, const char *id, const char *to, struct error *err)
{
	const struct node *node = call->app;
	struct dataset *volume;

	if (request_text(id, "id", err) < 0 || request_text(to, "node_id", err) < 0)
		return -1;
	if (node_need_pool(call, "volume", id, err) < 0 ||
	    moves_wait(node->moves, call->deadline, err) < 0)
		return -1;
	if (mover_moves(node->copies->mover, id, to))
		return 0;
	if (node_find(call, id, &volume, err) < 0)
		return -1;
	if (ready_check(node, &call->arena, id, to, err) == 0 &&
	    membership_extend(call, volume, to, err) == 0 &&
	    mover_begin(node->copies->mover, id, to, err) == 0)
		return 0;
	return fail_context(err, "volume '%s' cannot move to node '%s'", id, to);
}

int start_move(struct rpc_call *call, const StartMoveRequest *req, StartMoveResponse *rsp,
	       struct error *err)
{
	(void)rsp;
	return begin(call, req->id, req->node_id, err);
}

/* Returns the move of a volume, or NULL. */
static MoveState *move_of(struct rpc_call *call, const char *id)
{
	const struct node *node = call->app;
	size_t n;
	MoveState **moves = mover_list(node->copies->mover, &call->arena, id, &n);

	return n ? moves[0] : NULL;
}

int move_dataset(struct rpc_call *call, const MoveDatasetRequest *req, MoveDatasetResponse *rsp,
		 struct error *err)
{
	if (begin(call, req->id, req->node_id, err) < 0)
		return -1;
	rsp->move = move_of(call, req->id);
	return 0;
}

int get_dataset_move(struct rpc_call *call, const GetDatasetMoveRequest *req,
		     GetDatasetMoveResponse *rsp, struct error *err)
{
	const struct node *node = call->app;

	if (request_text(req->id, "id", err) < 0)
		return -1;
	if (node->catalog)
		rsp->move = move_of(call, req->id);
	return 0;
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
