/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Giving and checking promises of names (node/host/claims.h) in the handlers.
 *
 * Invariant: a name is created only between promise_begin and promise_end.
 */
#include "node/agent/promise.h"

#include "node/host/claims.h"
#include "node/host/node.h"

static Promise *message_of(struct arena *arena, const struct claim_targets *before)
{
	Promise *promise = new_promise(arena);

	promise->forgot = before->forgot;
	promise->targets = arena_alloc(arena, CLAIMS_TARGETS * sizeof(*promise->targets));
	for (size_t i = 0; i < CLAIMS_TARGETS; i++) {
		if (!before->list[i].claim)
			continue;
		PromiseTarget *target = new_promise_target(arena);
		target->node = before->list[i].node;
		target->claim = before->list[i].claim;
		promise->targets[promise->n_targets++] = target;
	}
	return promise;
}

int promise_give(struct rpc_call *call, const struct promise_wish *wish, uint64_t *ret_promised,
		 Promise **ret_promise, const struct error *err)
{
	const struct node *node = call->app;
	const struct claim claim = {.id = wish->key,
				    .number = wish->claim,
				    .target = wish->target,
				    .name = name_hash(wish->kind, wish->name)};
	struct claim_targets before;
	uint64_t promised;

	if (err->code != ERR_NOT_FOUND || !wish->claim)
		return -1;
	if (!claims_take(node->claims, &claim, &promised, &before)) {
		*ret_promised = promised;
		return 0;
	}
	if (!wish->target)
		return -1;
	*ret_promise = message_of(&call->arena, &before);
	return 0;
}

int promise_begin(struct rpc_call *call, const char *key, uint64_t claim, struct error *err)
{
	const struct node *node = call->app;

	if (!claim || claims_begin(node->claims, key, claim, name_hash_node(node->id)))
		return 0;
	return fail(err, ERR_ABORTED,
		    "'%s' cannot be created: another call looked it up at the same time; try again",
		    key);
}

void promise_end(struct rpc_call *call, const char *key, uint64_t claim)
{
	const struct node *node = call->app;

	if (claim)
		claims_end(node->claims, key);
}
