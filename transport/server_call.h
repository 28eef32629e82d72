/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_SERVER_CALL_H
#define ZCSI_SERVER_CALL_H

/* Shared by server.c (listeners), server_stream.c (bytes in and out), server_call.c (handlers). */

#include "transport/conn.h"
#include "transport/endpoint.h"
#include "transport/server.h"
#include "transport/waitlist.h"

struct server {
	struct loop *loop;
	struct workers *workers;
	const struct limits *limits;
	struct listener *listeners;
	struct peer *peers;
	unsigned n_peers;
	unsigned n_calls; /* with the workers: those that only arrive take nobody's place */
	size_t buffered;  /* bytes of half-received requests */

	struct waitlist receiving; /* streams whose request is not complete */
	struct waitlist sending;   /* streams whose answer is not taken */

	bool draining;
	void (*drained)(void *arg);
	void *drained_arg;
};

struct listener {
	struct server *server;
	struct listener *next;
	struct endpoint endpoint;
	const struct rpc_service *const *services;
	void *app;
	int fd;
	dev_t device; /* of the unix socket's file, to remove only our own */
	ino_t inode;
	struct event *event;
	struct loop_timer *retry; /* after running out of descriptors */
};

/* A client: its connection, and the calls that run for it even when that is gone. */
struct peer {
	struct server *server;
	struct listener *listener;
	struct conn *conn; /* NULL when it is gone */
	struct peer *previous, *next;
	unsigned n_calls;
};

/* A request and its answer on the wire. */
struct server_stream {
	struct stream base;
	struct peer *peer;
	struct rpc_target target;
	int64_t started, deadline;
	struct wire_message message;
	struct rpc_call *call;    /* between the request's end and the answer */
	struct loop_timer *timer; /* of the call's deadline */
	struct waiter waiter;     /* for the request, then for the answer to be taken */
};

extern const struct conn_role server_role;

/* The connection or a call of the peer is gone: free what nothing refers to any more. */
void server_peer_release(struct peer *peer);
/* What arrives, or is taken, too slowly. */
void server_receive_expired(struct waiter *waiter);
void server_send_expired(struct waiter *waiter);

/* The message is whole: decode it, run the handler and answer, or leave that to the workers. */
void server_call_begin(struct server_stream *stream);
/* The stream is about to be freed: free its call, or let it end unheard. */
void server_call_end(struct server_stream *stream, uint32_t http2_error);
/* Answer and log: what the call's error and reply say, or an error of the transport. */
void server_answer(struct server_stream *stream, const struct error *error);
void server_log(const struct server_stream *stream, const struct error *error);

#endif
