/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_STREAM_H
#define ZCSI_STREAM_H

/*
 * A streaming call as either side sees it: any number of messages each way, at the pace of whoever
 * is slower. Loop thread only; nothing blocks, and nothing frees the stream but what says so.
 *
 * A server's handler bears its RPC's name (transport/service.h: STREAM). It is called when the call
 * begins and says who hears of what comes, or fails, and the call ends with that:
 *
 *	int watch(struct rpc_stream *stream, struct error *err)
 *	{
 *		static const struct rpc_stream_events events = {.message = on_message};
 *
 *		stream->events = &events;
 *		return 0;
 *	}
 *
 * A client begins one with client_stream_begin (transport/client_stream.h).
 */

#include <stdbool.h>
#include <stdint.h>
#include <protobuf-c/protobuf-c.h>

#include "common/clock.h"
#include "common/error.h"
#include "common/mem.h"

struct rpc_stream;

/* Callbacks of a stream. Any of them may be NULL. */
struct rpc_stream_events {
	bool single; /* exactly one message comes, and is told when no second one can follow */
	/*
	 * A message of the other side, decoded; or, when bytes is set, as it was encoded. It lasts
	 * until this returns; held, until the stream is resumed.
	 */
	void (*message)(struct rpc_stream *stream, const void *message);
	void (*bytes)(struct rpc_stream *stream, const uint8_t *bytes, size_t n);
	/* The other side sends no more. (On a client closed follows instead.) */
	void (*ended)(struct rpc_stream *stream);
	/* There is room again, after rpc_stream_send had none. */
	void (*writable)(struct rpc_stream *stream);
	/*
	 * Called last, once: the stream is freed when this returns. The outcome is the one that a
	 * server finished with, or that its client received; ERR_CANCELLED when the other side went
	 * away first.
	 */
	void (*closed)(struct rpc_stream *stream, const struct error *outcome);
};

struct rpc_stream {
	const struct rpc_stream_events *events;
	void *arg;          /* the events' own; all that follows is read only */
	void *app;          /* server_listen's; NULL on a client */
	int64_t deadline;   /* common/clock.h; passed, the transport finishes the call */
	struct arena arena; /* as long as the stream */
};

/*
 * Send a message. Returns false when it was not taken: too much waits already (limits.h: queued),
 * and writable follows. Messages after rpc_stream_finish are dropped.
 */
bool rpc_stream_send(struct rpc_stream *stream, const ProtobufCMessage *message);
/*
 * Send no more. A server's call ends with this outcome: NULL is OK. A client says with NULL that
 * all is sent, and with an error gives the call up. Any time; the first outcome counts.
 */
void rpc_stream_finish(struct rpc_stream *stream, const struct error *error);

/*
 * Pause delivery: the other side can send until its window is full. rpc_stream_resume delivers what
 * waits before it returns, closed too: the stream may be gone then.
 */
void rpc_stream_hold(struct rpc_stream *stream);
void rpc_stream_resume(struct rpc_stream *stream);

#endif
