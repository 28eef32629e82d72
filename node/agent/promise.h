/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_PROMISE_H
#define ZCSI_NODE_PROMISE_H

/*
 * What the agent promises a controller that looks for something before it makes it (agent.proto:
 * claim), by the key of what it looks for: a volume's id, what agent_claim_name says, or a group's
 * key. For calls that run one at a time for a key.
 */

#include "transport/rpc.h"

/*
 * It is not there, as *err says: promise. 0: another claim was promised before, and which; else -1,
 * and *err is the answer.
 */
int promise_give(struct rpc_call *call, const char *key, uint64_t claim, uint64_t *ret_promised,
		 const struct error *err);
/* ERR_ABORTED: another call has looked for it since. Claim 0 asks for no promise. */
int promise_keep(struct rpc_call *call, const char *key, uint64_t claim, struct error *err);

#endif
