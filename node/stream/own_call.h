/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_STREAM_OWN_CALL_H
#define ZCSI_NODE_STREAM_OWN_CALL_H

/* A call that zcsi-node makes on a thread of its own, for functions that need one. */

#include "node/host/node.h"

/* auto_call struct rpc_call call = own_call(node, deadline); */
#define auto_call __attribute__((cleanup(own_call_fini)))

static inline struct rpc_call own_call(const struct node *node, int64_t deadline)
{
	return (struct rpc_call){
		.app = (void *)node, .deadline = deadline, .arena = {.cap = SIZE_MAX}};
}

static inline void own_call_fini(struct rpc_call *call)
{
	arena_fini(&call->arena);
}

#endif
