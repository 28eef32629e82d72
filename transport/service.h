/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_SERVICE_H
#define ZCSI_SERVICE_H

/*
 * A service is one list, its table of contents:
 *
 *	#define NODE_METHODS(INLINE, PLAIN, KEYED, STREAM)
 *		INLINE(NodeGetInfo, node_get_info)
 *		KEYED(NodeStageVolume, node_stage_volume, volume_id)
 *
 *	RPC_SERVICE(node_service, csi__v1__node__descriptor, NODE_METHODS);
 *
 * INLINE handlers run on the loop and must not block; the others run on workers. PLAIN calls run in
 * any order. KEYED calls with equal text in the named request field run one at a time, in order of
 * arrival, whatever service they are for; one whose turn has not come at its deadline is ABORTED.
 * STREAM handlers begin a call with any number of messages, on the loop (transport/stream.h). What
 * is left out answers UNIMPLEMENTED; a handler of the wrong type does not compile.
 */

#include "transport/rpc.h"
#include "transport/stream.h"

typedef int rpc_open_fn(struct rpc_stream *stream, struct error *err);
typedef int rpc_run_fn(struct rpc_call *call, const void *request, void *response,
		       struct error *err);

struct rpc_method {
	const char *name; /* as in the .proto */
	rpc_open_fn *open;
	rpc_run_fn *run;                         /* NULL: a stream */
	const char *(*key)(const void *request); /* NULL: not serialised */
	bool on_loop;
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

#define RPC_RUN_PLAIN_(Name, handler)                                                              \
	static int handler##_run(struct rpc_call *call, const void *request, void *response,       \
				 struct error *err)                                                \
	{                                                                                          \
		const Name##Request *req = request;                                                \
		Name##Response *rsp = response;                                                    \
		return handler(call, req, rsp, err);                                               \
	}
#define RPC_RUN_KEYED_(Name, handler, field)                                                       \
	RPC_RUN_PLAIN_(Name, handler)                                                              \
	static const char *handler##_key(const void *request)                                      \
	{                                                                                          \
		const Name##Request *req = request;                                                \
		return req->field;                                                                 \
	}
#define RPC_RUN_STREAM_(Name, handler)
#define RPC_ROW_INLINE_(Name, handler) {#Name, rpc_open_unary, handler##_run, NULL, true},
#define RPC_ROW_PLAIN_(Name, handler)  {#Name, rpc_open_unary, handler##_run, NULL, false},
#define RPC_ROW_KEYED_(Name, handler, ...)                                                         \
	{#Name, rpc_open_unary, handler##_run, handler##_key, false},
#define RPC_ROW_STREAM_(Name, handler) {#Name, handler, NULL, NULL, false},

/* The transport's: how a unary call begins. */
rpc_open_fn rpc_open_unary;

#endif
