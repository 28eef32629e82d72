/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_RPC_H
#define ZCSI_RPC_H

/*
 * A unary call, as passed to its handler. A handler has the name of its RPC, receives the decoded
 * request and an initialised response, and fills the response and returns 0, or fails:
 *
 *	int create_volume(struct rpc_call *call, const CreateVolumeRequest *req,
 *			  CreateVolumeResponse *rsp, struct error *err);
 *
 * Both messages and all memory that the handler allocates from call->arena live until the response
 * is encoded. The table of the service decides on which thread the handler runs
 * (transport/service.h).
 */

#include <stdbool.h>
#include <stdint.h>
#include <protobuf-c/protobuf-c.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/mem.h"
#include "transport/chunk.h"
#include "transport/workers.h"

struct tls_names; /* declared in transport/tls_names.h */

/* The service and method of a request. */
struct rpc_target {
	const char *service;
	const struct rpc_method *method;
	const ProtobufCMessageDescriptor *input, *output;
};

struct rpc_call {
	/* Read-only for handlers. */
	void *app;                      /* server_offer.app of the endpoint */
	int64_t deadline;               /* now_ms() value; NO_DEADLINE if the client set none */
	struct arena arena;             /* memory that is freed with the call */
	const struct tls_names *caller; /* names in the client's certificate; NULL without TLS */

	/* For the handlers' use; NULL at first. */
	void *state;

	/* Private to the transport from here on. */
	struct rpc_target target;
	ProtobufCMessage *request;
	struct chunk *reply;        /* the encoded response; NULL before, and once it is queued */
	const struct error *failed; /* error of a handler on a worker; NULL without one */
	struct work work;
	struct peer *peer;
	struct server_stream *stream; /* stream of the answer; NULL once no answer is needed */
};

#endif
