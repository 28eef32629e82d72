/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLIENT_STREAM_H
#define ZCSI_CLIENT_STREAM_H

/* Streaming calls of a client. */

#include "transport/client.h"
#include "transport/stream.h"

/*
 * Begin a streaming call of a method, such as "Watch" of service; arg is stored for the events. No
 * callback runs before this returns, and closed is always called. The call waits for a connection
 * as a unary call does (client.h), accepts messages to send meanwhile, and is never retried. Loop
 * thread only.
 */
struct rpc_stream *client_stream_begin(struct client *client,
				       const ProtobufCServiceDescriptor *service,
				       const char *method, int64_t deadline,
				       const struct rpc_stream_events *events, void *arg);

#endif
