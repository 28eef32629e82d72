/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_EXCHANGE_H
#define ZCSI_EXCHANGE_H

/*
 * The messages of a call, of either kind and side: bytes of a stream become messages that are
 * delivered one by one, and messages become bytes. The transport's own view of struct rpc_stream.
 */

#include "transport/conn_stream.h"
#include "transport/outbox.h"
#include "transport/stream.h"
#include "transport/wire.h"

struct exchange;

extern const struct error exchange_ok; /* an outcome */

/* The functions in which a server's exchange and a client's differ. */
struct exchange_side {
	void (*send)(struct exchange *exchange, struct chunk *chunk);
	void (*finish)(struct exchange *exchange, const struct error *error);
	/* The other side broke the rules of gRPC, or a limit. */
	void (*broken)(struct exchange *exchange, struct error *error);
	/* All messages were delivered. */
	void (*ended)(struct exchange *exchange);
	/* Do we wait for the rest of something? False and true for each new message. */
	void (*waits)(struct exchange *exchange, bool waits);
};

struct exchange {
	struct rpc_stream rpc; /* first */
	const struct exchange_side *side;
	struct stream *wire; /* its conn is NULL before and after it is open */
	struct loop *loop;
	const struct limits *limits;
	const ProtobufCMessageDescriptor *receives;
	size_t *buffered; /* by a whole server: see limits.h, messages */
	size_t counted;   /* of that, here */

	struct wire_message message; /* arriving, or told and in use */
	struct outbox backlog;       /* bytes that came after a message that is paused */
	struct arena decoded;        /* the message */
	struct pump *in, *out;       /* NULL: the messages are for the events */
	bool delivered;              /* message was; a single message stays delivered */
	bool delivering, paused;
	bool ended;        /* the other side sends no more */
	bool done_reading; /* no more messages are delivered, only room and the end */
	bool full;         /* a message was refused because too much waits */
};

/* rpc.app, rpc.deadline and receives are its owner's to set. */
void exchange_init(struct exchange *exchange, const struct exchange_side *side, struct stream *wire,
		   struct loop *loop, const struct limits *limits, size_t *buffered);
/* Tell closed, and free what it holds. */
void exchange_fini(struct exchange *exchange, const struct error *outcome);

/* Start to deliver messages. Call when rpc.events is set. */
void exchange_begin(struct exchange *exchange);
/* Reports of the connection: n bytes came; the peer sends no more; all queued bytes were taken. */
void exchange_take(struct exchange *exchange, const uint8_t *bytes, size_t n);
void exchange_end(struct exchange *exchange);
void exchange_emptied(struct exchange *exchange);

static inline bool exchange_is_finished(const struct exchange *exchange)
{
	return exchange->wire->done || exchange->wire->ending;
}

/* Send what is encoded already, however much waits. */
void exchange_send(struct exchange *exchange, struct chunk *chunk);

#endif
