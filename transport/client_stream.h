/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLIENT_STREAM_H
#define ZCSI_CLIENT_STREAM_H

/* Streaming calls of a client. */

#include "transport/client.h"
#include "transport/stream.h"

/*
 * Begin a call; loop thread only. method: "Watch" of the service, whose messages it has. No
 * callback runs before this returns, and closed runs in any case. The call waits for a connection
 * as a unary one does (client.h), takes messages meanwhile, and is never repeated.
 */
struct rpc_stream *client_stream_begin(struct client *client,
				       const ProtobufCServiceDescriptor *service,
				       const char *method, int64_t deadline,
				       const struct rpc_stream_events *events, void *arg);

#endif
