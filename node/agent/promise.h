/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_AGENT_PROMISE_H
#define ZCSI_NODE_AGENT_PROMISE_H

/*
 * Promises (claims.h) in the handlers of lookups and creations. The caller runs one call at a time
 * per key.
 */

#include "common/volume/name.h"
#include "proto/agent.h"
#include "transport/rpc.h"

/* A lookup: key is a volume's id, the key of agent_lock_name_key, or a group's key. */
struct promise_wish {
	const char *key;
	enum name_kind kind;
	const char *name;
	uint64_t claim, target; /* claim and target as in the request of the lookup */
};

/*
 * Promise the key after a lookup failed with *err. Returns 0 if the answer is *ret_promised, a
 * claim that was promised before, or *ret_promise, a promise. Otherwise returns -1, and the answer
 * is *err. No promise is made unless *err is ERR_NOT_FOUND and the claim is not 0.
 */
int promise_give(struct rpc_call *call, const struct promise_wish *wish, uint64_t *ret_promised,
		 Promise **ret_promise, const struct error *err);
/*
 * Check before a creation that the key is still promised to this claim, or that the claim is 0.
 * Returns 0, or -1 with ERR_ABORTED. After it returned 0, promise_end ends the creation.
 */
int promise_begin(struct rpc_call *call, const char *key, uint64_t claim, struct error *err);
void promise_end(struct rpc_call *call, const char *key, uint64_t claim);

#endif
