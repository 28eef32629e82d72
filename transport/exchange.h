/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_EXCHANGE_H
#define ZCSI_EXCHANGE_H

/*
 * The messages of a call, unary or streaming, server or client side: bytes of a stream become
 * messages that are delivered one by one, and messages become bytes. struct exchange is the
 * transport's internal form of struct rpc_stream. Loop thread only.
 */

#include "transport/conn_stream.h"
#include "transport/outbox.h"
#include "transport/stream.h"
#include "transport/wire.h"

struct exchange;

extern const struct error exchange_ok; /* the outcome of a call that succeeded */

/* Functions that differ between a server's exchange and a client's. */
struct exchange_side {
	/* Queue an encoded message; the callee owns the chunk. */
	void (*send)(struct exchange *exchange, struct chunk *chunk);
	/* Send no more messages; error is the outcome. */
	void (*finish)(struct exchange *exchange, const struct error *error);
	/* The other side violated gRPC or exceeded a limit; *error states how. */
	void (*broken)(struct exchange *exchange, struct error *error);
	/* All messages were delivered. */
	void (*ended)(struct exchange *exchange);
	/* waits is true while the rest of a message is awaited; false before each next message. */
	void (*waits)(struct exchange *exchange, bool waits);
};

struct exchange {
	struct rpc_stream rpc; /* first member: the two types are cast to each other */
	const struct exchange_side *side;
	struct stream *wire; /* HTTP/2 stream; wire->conn is NULL before and after it is open */
	struct loop *loop;
	const struct limits *limits;
	const ProtobufCMessageDescriptor *receives; /* type of the messages received */
	size_t *buffered; /* bytes buffered, in the whole server on a server (limits.h: messages) */
	size_t counted;   /* bytes of *buffered that belong to this exchange */

	struct wire_message message; /* the message being received, or delivered and in use */
	struct outbox backlog;       /* bytes received after a message whose delivery is paused */
	struct arena decoded;        /* memory of the decoded message */
	struct pump *in, *out;       /* pumps that replace the events for messages; or NULL */
	bool delivered;    /* true if message was delivered; stays true if events->single */
	bool delivering;   /* true while a callback for a message runs */
	bool paused;       /* true between rpc_stream_hold and rpc_stream_resume */
	bool ended;        /* true once the other side has sent its last message */
	bool done_reading; /* true once no more messages are delivered */
	bool full;         /* true if rpc_stream_send refused a message for want of room */
};

/* Initialise an exchange. The owner then sets rpc.app, rpc.deadline and receives. */
void exchange_init(struct exchange *exchange, const struct exchange_side *side, struct stream *wire,
		   struct loop *loop, const struct limits *limits, size_t *buffered);
/* Call the closed event with the outcome, and free what the exchange holds. */
void exchange_fini(struct exchange *exchange, const struct error *outcome);
/* Start to deliver messages. Call when rpc.events is set. */
void exchange_begin(struct exchange *exchange);
/* Called when n bytes were received. */
void exchange_take(struct exchange *exchange, const uint8_t *bytes, size_t n);
/* Called when the peer has sent its last byte. */
void exchange_end(struct exchange *exchange);
/* Called when all queued bytes were sent. */
void exchange_emptied(struct exchange *exchange);

/* True if nothing more can be sent: the stream is done, or its end is queued. */
static inline bool exchange_is_finished(const struct exchange *exchange)
{
	return exchange->wire->done || exchange->wire->ending;
}

/* Send an encoded message, regardless of limits->queued. Takes ownership of the chunk. */
void exchange_send(struct exchange *exchange, struct chunk *chunk);

#endif
