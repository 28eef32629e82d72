/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_SERVICE_H
#define ZCSI_SERVICE_H

/*
 * A service is defined by one list of its methods:
 *
 *	#define NODE_METHODS(INLINE, PLAIN, KEYED, STREAM)
 *		INLINE(NodeGetInfo, node_get_info)
 *		KEYED(NodeStageVolume, node_stage_volume, volume_id)
 *
 *	RPC_SERVICE(node_service, csi__v1__node__descriptor, NODE_METHODS);
 *
 * INLINE handlers run on the loop and must not block; PLAIN and KEYED handlers run on workers.
 * PLAIN calls run in any order. KEYED calls with equal text in the named request field run one at a
 * time, in order of arrival, across all services; a call that waits for another one until its
 * deadline ends with ABORTED. STREAM handlers run on the loop and begin a call with any number of
 * messages (transport/stream.h). A method that is not listed answers UNIMPLEMENTED; a handler of
 * the wrong type does not compile. A PLAIN or KEYED row may end with a lane (workers_bound), else
 * 0; a call that waits for its lane until its deadline ends with UNAVAILABLE.
 */

#include "transport/rpc.h"
#include "transport/stream.h"

typedef int rpc_open_fn(struct rpc_stream *stream, struct error *err);
typedef int rpc_run_fn(struct rpc_call *call, const void *request, void *response,
		       struct error *err);

struct rpc_method {
	const char *name;                        /* name of the method in the .proto file */
	rpc_open_fn *open;                       /* begins a call, on the loop */
	rpc_run_fn *run;                         /* runs a unary call; NULL for a STREAM method */
	const char *(*key)(const void *request); /* returns the key of a KEYED call; NULL: no key */
	bool on_loop;                            /* true for INLINE: run is called on the loop */
	unsigned lane;                           /* lane of a PLAIN or KEYED method, or 0 */
};

struct rpc_service {
	const ProtobufCServiceDescriptor *descriptor;
	const struct rpc_method *methods;
	size_t n_methods;
};

#define RPC_SERVICE(variable, service_descriptor, LIST)                                            \
	LIST(RPC_RUN_PLAIN_, RPC_RUN_PLAIN_, RPC_RUN_KEYED_, RPC_RUN_STREAM_)                      \
	static const struct rpc_method variable##_methods[] = {                                    \
		LIST(RPC_ROW_INLINE_, RPC_ROW_PLAIN_, RPC_ROW_KEYED_, RPC_ROW_STREAM_)};           \
	const struct rpc_service variable = {.descriptor = &(service_descriptor),                  \
					     .methods = variable##_methods,                        \
					     .n_methods = COUNT(variable##_methods)}

#define RPC_RUN_PLAIN_(Name, handler, ...)                                                         \
	static int handler##_run(struct rpc_call *call, const void *request, void *response,       \
				 struct error *err)                                                \
	{                                                                                          \
		const Name##Request *req = request;                                                \
		Name##Response *rsp = response;                                                    \
		return handler(call, req, rsp, err);                                               \
	}
#define RPC_RUN_KEYED_(Name, handler, field, ...)                                                  \
	RPC_RUN_PLAIN_(Name, handler)                                                              \
	static const char *handler##_key(const void *request)                                      \
	{                                                                                          \
		const Name##Request *req = request;                                                \
		return req->field;                                                                 \
	}
#define RPC_RUN_STREAM_(Name, handler)
/* __VA_ARGS__ is the lane or empty; + 0 makes either a number. */
#define RPC_ROW_INLINE_(Name, handler) {#Name, rpc_open_unary, handler##_run, NULL, true, 0},
#define RPC_ROW_PLAIN_(Name, handler, ...)                                                         \
	{#Name, rpc_open_unary, handler##_run, NULL, false, __VA_ARGS__ + 0},
#define RPC_ROW_KEYED_(Name, handler, field, ...)                                                  \
	{#Name, rpc_open_unary, handler##_run, handler##_key, false, __VA_ARGS__ + 0},
#define RPC_ROW_STREAM_(Name, handler) {#Name, handler, NULL, NULL, false, 0},

/* Begin a unary call. The transport's own value of rpc_method.open for methods but STREAM. */
rpc_open_fn rpc_open_unary;

#endif
