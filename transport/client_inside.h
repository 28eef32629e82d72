/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLIENT_INSIDE_H
#define ZCSI_CLIENT_INSIDE_H

/* Shared by a client's kinds of calls. Loop thread only. */

#include "transport/client.h"
#include "transport/exchange.h"

/* A call that waits for a connection; embedded in a client_stream. */
struct client_waiter {
	/*
	 * Once: open a stream on conn, which is pumped afterwards; or, when that is NULL, *err
	 * says why there is none. It may seek again, but not by client_seek.
	 */
	void (*found)(struct client_waiter *waiter, struct conn *conn, const struct error *err);
	int64_t deadline;

	/* the client's own */
	int64_t until;
	struct client_waiter *next;
};

/* At the top of the loop only: may call found() before it returns. */
void client_wait(struct client *client, struct client_waiter *waiter);
/* From anywhere on the loop: found() is called in the loop's next turn. */
void client_wait_again(struct client *client, struct client_waiter *waiter);
void client_wait_end(struct client *client, struct client_waiter *waiter);

/*
 * A call on its way (client_stream.c): it seeks a connection, has a stream, or has lost it and
 * still has something to tell.
 */
struct client_stream {
	struct stream base;
	struct exchange exchange;
	struct client *client;
	struct client_waiter waiter;
	const ProtobufCMethodDescriptor *method;
	char path[HEAD_PATH_MAX];
	struct loop_timer *timer; /* of the deadline; or to tell the end in the loop's next turn */
	bool concluded;  /* the outcome is what it will be, but for what is wrong with OK */
	bool told;       /* so is its owner */
	bool may_repeat; /* it failed, and the server did nothing about it */
	struct error outcome;
	size_t buffered;
};

extern const struct conn_role client_role;

/* Not begun yet: client_seek or client_seek_again does. */
struct client_stream *client_stream_new(struct client *client,
					const ProtobufCServiceDescriptor *service,
					const char *method, int64_t deadline,
					const struct rpc_stream_events *events, void *arg);

/* The request's fields; they last as long as this, the path and the client. */
struct client_head {
	char timeout[WIRE_TIMEOUT_SIZE];
	nghttp2_nv fields[8];
};

void client_head_init(struct client_head *head, const struct client *client, const char *path,
		      int64_t deadline);

/* In closed(), without an answer: is it certain that the server did nothing? And what to say. */
bool client_may_repeat(const struct stream *stream, uint32_t http2_error);
int client_fail_closed(const struct client *client, const struct stream *stream,
		       uint32_t http2_error, struct error *err);

struct loop *client_loop(const struct client *client);
const struct limits *client_limits(const struct client *client);

#endif
