/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_SERVER_STREAM_H
#define ZCSI_SERVER_STREAM_H

/*
 * The calls of the server, shared by server_stream.c (receiving), server_answer.c (answering) and
 * server_call.c (unary handlers). Loop thread only.
 */

#include "transport/exchange.h"
#include "transport/rpc_inside.h"
#include "transport/server_inside.h"

/* A call as a stream of HTTP/2. */
struct server_stream {
	struct stream base;
	struct exchange exchange;
	struct peer *peer;
	struct rpc_target target;
	int64_t started;             /* now_us() value when the call began */
	struct rpc_call *call;       /* unary call from the end of the request to its answer */
	struct loop_timer *timer;    /* timer of the deadline; NULL without one */
	struct waiter receiving;     /* waits for the rest of a message */
	struct waiter sending;       /* waits for the peer to read the answer */
	bool begun;                  /* true once the answer has begun */
	struct refusal *refusal;     /* answer to a request that is not gRPC; NULL for a call */
	const struct error *outcome; /* NULL until the outcome is known */
};

/* Call passed(stream) after ms, unless the call has no deadline. */
void server_watch_deadline(struct server_stream *stream, int64_t ms, void (*passed)(void *arg));

/* Returns the stream that contains an exchange. */
static inline struct server_stream *server_stream_of(struct exchange *exchange)
{
	return (struct server_stream *)exchange->wire;
}

/* Returns the listener on which a stream of a server arrived. */
static inline const struct listener *server_listener(struct rpc_stream *stream)
{
	return server_stream_of((struct exchange *)stream)->peer->listener;
}

#endif
