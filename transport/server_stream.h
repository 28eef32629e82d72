/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_SERVER_STREAM_H
#define ZCSI_SERVER_STREAM_H

/*
 * The server's calls, shared by server_stream.c (what arrives), server_answer.c (what is answered)
 * and server_call.c (unary handlers).
 */

#include "transport/exchange.h"
#include "transport/rpc_inside.h"
#include "transport/server_inside.h"

/* A call on the wire. */
struct server_stream {
	struct stream base;
	struct exchange exchange;
	struct peer *peer;
	struct rpc_target target;
	int64_t started;             /* now_us() */
	struct rpc_call *call;       /* unary: between the request's end and ours */
	struct loop_timer *timer;    /* of the deadline; NULL: nobody watches it */
	struct waiter receiving;     /* for the rest of a message */
	struct waiter sending;       /* for what we send to be taken */
	bool begun;                  /* the answer */
	struct refusal *refusal;     /* what to answer at the request's end, whatever it is */
	const struct error *outcome; /* NULL until there is one */
};

/* Call passed(stream) in ms, unless the call has no deadline. */
void server_watch_deadline(struct server_stream *stream, int64_t ms, void (*passed)(void *arg));
static inline struct server_stream *server_stream_of(struct exchange *exchange)
{
	return (struct server_stream *)exchange->wire;
}

/* Returns the listener of a server's stream. */
static inline const struct listener *server_listener(struct rpc_stream *stream)
{
	return server_stream_of((struct exchange *)stream)->peer->listener;
}

#endif
