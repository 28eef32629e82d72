/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_STREAM_H
#define ZCSI_STREAM_H

/*
 * A streaming call, server or client side: any number of messages in both directions, at the pace
 * of the slower side. Loop thread only. No function blocks, and none but closed and
 * rpc_stream_resume may free the stream.
 *
 * A server's handler has the name of its RPC (transport/service.h: STREAM). It runs when the call
 * begins and sets the callbacks; or it fails, and the call ends with its error:
 *
 *	int watch(struct rpc_stream *stream, struct error *err)
 *	{
 *		static const struct rpc_stream_events events = {.message = on_message};
 *
 *		stream->events = &events;
 *		return 0;
 *	}
 *
 * A client begins a streaming call with client_stream_begin (transport/client_stream.h).
 */

#include <stdbool.h>
#include <stdint.h>
#include <protobuf-c/protobuf-c.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/mem.h"

struct rpc_stream;
struct tls_names; /* declared in transport/tls_names.h */

/* Callbacks of a stream. Any of them may be NULL. */
struct rpc_stream_events {
	bool single; /* the call receives exactly one message, delivered at the end of the stream */
	/* A message was received. It lives until this returns or, if paused, the stream resumes. */
	void (*message)(struct rpc_stream *stream, const void *message);
	/* Called instead of message, if set, with the encoded message, which lives equally long. */
	void (*bytes)(struct rpc_stream *stream, const uint8_t *bytes, size_t n);
	/* Server only: the client has sent its last message. */
	void (*ended)(struct rpc_stream *stream);
	/* The queue has room again, after rpc_stream_send returned false. */
	void (*writable)(struct rpc_stream *stream);
	/*
	 * The last call; the stream is freed when it returns. outcome is that of the call; on a
	 * server, ERR_CANCELLED if the client ended the call first.
	 */
	void (*closed)(struct rpc_stream *stream, const struct error *outcome);
};

struct rpc_stream {
	const struct rpc_stream_events *events;
	void *arg;          /* for the events' use; the members after it are read-only */
	void *app;          /* server_offer.app; NULL on a client */
	int64_t deadline;   /* now_ms() value at which the transport ends the call */
	struct arena arena; /* memory that is freed with the stream */
	const struct tls_names *caller; /* names in the client's certificate; NULL: none */
};

/*
 * Send a message. Returns false if it was not taken because the queue is full (limits.h: queued);
 * writable is called later. A message after rpc_stream_finish is dropped.
 */
bool rpc_stream_send(struct rpc_stream *stream, const ProtobufCMessage *message);
/*
 * Send no more messages. On a server, error is the outcome of the call; NULL is OK. On a client,
 * NULL ends the request, and an error cancels the call. Only the first outcome is used.
 */
void rpc_stream_finish(struct rpc_stream *stream, const struct error *error);

/* Pause the delivery of messages. The other side can send until the window is full. */
void rpc_stream_hold(struct rpc_stream *stream);
/* Resume delivery. Delivers what is buffered, which may include closed and so free the stream. */
void rpc_stream_resume(struct rpc_stream *stream);

#endif
