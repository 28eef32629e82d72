/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_RPC_H
#define ZCSI_RPC_H

/*
 * A call as its handler sees it. A handler bears its RPC's name, gets the decoded request and an
 * initialised response, fills the response and returns 0, or fails:
 *
 *	int create_volume(struct rpc_call *call, const CreateVolumeRequest *req,
 *			  CreateVolumeResponse *rsp, struct error *err);
 *
 * Both messages, and whatever the handler allocates from call->arena, live until the answer is
 * encoded. Which thread it runs on is its service's table's to say (transport/service.h).
 */

#include <stdbool.h>
#include <stdint.h>
#include <protobuf-c/protobuf-c.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/mem.h"
#include "transport/chunk.h"
#include "transport/workers.h"

/* The service and method that a path names. */
struct rpc_target {
	const char *service;
	const struct rpc_method *method;
	const ProtobufCMessageDescriptor *input, *output;
};

struct rpc_call {
	/* for handlers, read only */
	void *app;        /* what server_listen was given */
	int64_t deadline; /* common/clock.h; NO_DEADLINE when the client set none */
	struct arena arena;

	/* the handlers' own, NULL at first */
	void *state;

	/* the transport's own */
	struct rpc_target target;
	ProtobufCMessage *request;
	struct chunk *reply;        /* the response, encoded; NULL: none, or it is the stream's */
	const struct error *failed; /* on a worker: why, or NULL */
	struct work work;
	struct peer *peer;
	struct server_stream *stream; /* NULL once nobody waits for the answer */
};

#endif
