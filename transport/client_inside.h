/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLIENT_INSIDE_H
#define ZCSI_CLIENT_INSIDE_H

/* Shared by the unary and the streaming calls of a client. Loop thread only. */

#include "transport/client.h"
#include "transport/exchange.h"

/* A call that waits for a connection; embedded in a client_stream. */
struct client_waiter {
	/*
	 * Called once: to open a stream on conn, for which the client calls conn_pump afterwards;
	 * or with conn NULL and the reason in *err. May call client_wait_again, but not
	 * client_wait.
	 */
	void (*found)(struct client_waiter *waiter, struct conn *conn, const struct error *err);
	int64_t deadline;

	/* Private to client.c from here on. */
	int64_t since; /* now_ms() value when the wait began */
	struct client_waiter *next;
};

/* Wait for a connection. May call found() at once, so callbacks of conn must not call it. */
void client_wait(struct client *client, struct client_waiter *waiter);
/* Wait for a connection. Calls found() in the loop's next turn at the earliest. */
void client_wait_again(struct client *client, struct client_waiter *waiter);
/* Stop waiting. Does nothing if the waiter is not in the queue. */
void client_wait_end(struct client *client, struct client_waiter *waiter);

/*
 * A call in flight (client_stream.c): it waits for a connection, has a stream, or has lost the
 * stream and still has messages to deliver.
 */
struct client_stream {
	struct stream base;
	struct exchange exchange;
	struct client *client;
	struct client_waiter waiter;
	const ProtobufCMethodDescriptor *method;
	char path[HEAD_PATH_MAX];
	struct loop_timer *timer; /* runs until the deadline, or reports the end in the next turn */
	bool concluded;           /* true once outcome is final */
	bool notified;            /* true once the closed callback has run */
	bool may_repeat;          /* true if the call failed before the server processed it */
	struct error outcome;
	size_t buffered; /* bytes received and not used yet */
};

extern const struct conn_role client_role;

/* Returns a new call, which client_wait or client_wait_again begins. It frees itself at its end. */
struct client_stream *client_stream_new(struct client *client,
					const ProtobufCServiceDescriptor *service,
					const char *method, int64_t deadline,
					const struct rpc_stream_events *events, void *arg);

/* The header fields of a request. They point into this struct, the path and the client. */
struct client_head {
	char timeout[WIRE_TIMEOUT_SIZE];
	nghttp2_nv fields[8];
};

/* Fill in the fields of a request for path, whose grpc-timeout ends at deadline. */
void client_head_init(struct client_head *head, const struct client *client, const char *path,
		      int64_t deadline);

/* True if the server certainly did not process a call whose stream closed with http2_error. */
bool client_may_repeat(const struct stream *stream, uint32_t http2_error);
/* Returns -1 with *err for a call whose stream closed with http2_error before an answer. */
int client_fail_closed(const struct client *client, const struct stream *stream,
		       uint32_t http2_error, struct error *err);

struct loop *client_loop(const struct client *client);
const struct limits *client_limits(const struct client *client);

#endif
