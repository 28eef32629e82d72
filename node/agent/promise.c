/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Promises in the answers of handlers. See promise.h.
 *
 * Invariant: only what was said to be missing is promised.
 */
#include "node/agent/promise.h"

#include "node/host/node.h"

int promise_give(struct rpc_call *call, const char *key, uint64_t claim, uint64_t *ret_promised,
		 const struct error *err)
{
	const struct node *node = call->app;

	if (err->code != ERR_NOT_FOUND || !claim ||
	    claims_take(node->claims, key, claim, ret_promised))
		return -1;
	return 0;
}

int promise_keep(struct rpc_call *call, const char *key, uint64_t claim, struct error *err)
{
	const struct node *node = call->app;

	if (!claim || claims_hold(node->claims, key, claim))
		return 0;
	return fail(err, ERR_ABORTED,
		    "'%s' is not made: another call has looked for it since; repeat", key);
}
