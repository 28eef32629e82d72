/* SPDX-License-Identifier: MPL-2.0 */
/*
 * csi.v1.Node at the endpoint of the controller, with --node: for sidecars that want all services
 * of a driver at one socket, like csi-provisioner --node-deployment.
 *
 * Invariant: nothing is decided here. Each call is passed to the zcsi-node of this host with its
 * deadline, and the answer or the error of zcsi-node is returned unchanged.
 */
#include "controller/node.h"

#include "controller/agents.h"
#include "transport/client.h"

static int pass(struct rpc_call *call, const char *method, const ProtobufCMessage *request,
		void *ret_response, struct error *err)
{
	struct client_call *passed =
		client_begin(agents_node(call), &call->arena, &csi__v1__node__descriptor, method,
			     request, call->deadline);

	return client_finish(passed, ret_response, err);
}

#define PASS_(Name, handler, ...)                                                                  \
	int handler(struct rpc_call *call, const Name##Request *req, Name##Response *rsp,          \
		    struct error *err)                                                             \
	{                                                                                          \
		Name##Response *answer;                                                            \
		if (pass(call, #Name, &req->base, &answer, err) < 0)                               \
			return -1;                                                                 \
		*rsp = *answer;                                                                    \
		return 0;                                                                          \
	}

NODE_METHODS(PASS_, PASS_, PASS_, NODE_STREAM_)
RPC_SERVICE(node_service, csi__v1__node__descriptor, NODE_METHODS);
