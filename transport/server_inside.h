/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_SERVER_INSIDE_H
#define ZCSI_SERVER_INSIDE_H

/* struct server, shared by server.c and the files of its calls (server_stream.h). */

#include "transport/acceptor.h"
#include "transport/conn.h"
#include "transport/exchange.h"
#include "transport/rate.h"
#include "transport/server.h"
#include "transport/waitlist.h"

struct server {
	struct loop *loop;
	struct workers *workers;
	const struct limits *limits;
	struct listener *listeners;
	struct peer *peers;   /* peers; first: the last one that connected or began a call */
	unsigned n_peers;     /* number of peers */
	unsigned most_peers;  /* largest n_peers since memory was last returned to the kernel */
	unsigned n_calls;     /* calls submitted to the workers (limits.h: calls) */
	size_t buffered;      /* bytes received and not used yet (limits.h: messages) */
	struct rate failures; /* failed calls in this period, to limit their log lines */
	struct waitlist receiving, sending; /* streams that wait for their peer */
	struct health_watch *watches;

	bool draining;
	void (*drained)(void *arg);
	void *drained_arg;
};

struct listener {
	struct acceptor acceptor;
	struct server *server;
	struct listener *next;
	struct server_offer offer;
	const struct rpc_service **services; /* offer.services and the built-in services */
	struct tls *tls;                     /* credentials for TLS; NULL: plain text */
	uint64_t received, sent;             /* bytes moved by connections that have ended */
};

/* A client: its connection, and its running calls, which may outlive the connection. */
struct peer {
	struct server *server;
	struct listener *listener;
	struct conn *conn;         /* the connection; NULL once it has ended */
	struct peer *next, **link; /* neighbours in server->peers (list.h) */
	uint64_t origin;           /* number of the peer's process or host (socket_origin) */
	unsigned n_calls;          /* running calls (limits.h: connection_calls) */
	struct tls_names *names;   /* the peer's names; NULL without TLS or before a call */
};

struct server_stream; /* declared in server_stream.h */

extern const struct conn_role server_role;

/* Returns 0 if the peer may call the method, or -1 with ERR_PERMISSION_DENIED. */
int server_check_allowed(const struct peer *peer, const struct rpc_target *to, struct error *err);
void server_peer_used(struct peer *peer); /* call when a call of the peer begins */
/* Free the peer if it has no connection and no call. Call after either has ended. */
void server_peer_release(struct peer *peer);
/* Called when a peer has not completed a message within limits->receive_ms. */
void server_receive_expired(struct waiter *waiter);
/* Called when a peer may have read nothing of an answer for limits->write_ms. */
void server_send_expired(struct waiter *waiter);

/* Send an encoded message of an answer. Takes ownership of the chunk. */
void server_send(struct exchange *exchange, struct chunk *chunk);
/* End the answer with an outcome and log the call, unless it has an outcome already. */
void server_finish(struct exchange *exchange, const struct error *error);
/* Set and log the outcome of a call without sending anything. */
void server_conclude(struct server_stream *stream, const struct error *error);
/* Answer a request that is not a call, and log it. http_status 200 is a gRPC answer. */
void server_refuse(struct server_stream *stream, int http_status, const struct error *error);

/* Withdraw the call from the workers if it waits there. Returns false if its handler runs. */
bool server_call_withdraw(struct rpc_call *call);

#endif
