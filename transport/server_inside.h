/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_SERVER_INSIDE_H
#define ZCSI_SERVER_INSIDE_H

/* The server itself, shared by server.c and what looks after its calls (server_stream.h). */

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
	struct peer *peers;
	unsigned n_peers, most_peers; /* now; since memory was given back last */
	unsigned n_calls;     /* with the workers: those that only arrive take nobody's place */
	size_t buffered;      /* see limits.h: messages */
	struct rate failures; /* that were logged */
	struct waitlist receiving, sending;
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
	const struct rpc_service **services; /* the offer's, and those that every endpoint has */
	struct tls *tls;                     /* NULL: plain text */
	uint64_t received, sent;             /* bytes, of connections that have ended */
};

/* A client: its connection, and the calls that run for it even when that is gone. */
struct peer {
	struct server *server;
	struct listener *listener;
	struct conn *conn;         /* NULL when it is gone */
	struct peer *next, **link; /* of the server's */
	unsigned n_calls;
	struct tls_names *names; /* of its certificate; NULL without TLS, or before a call */
};

struct server_stream; /* server_stream.h */

extern const struct conn_role server_role;

/* May the peer call the service? */
int server_check_allowed(const struct peer *peer, const char *service, struct error *err);
/* The connection or a call of the peer is gone: free what nothing refers to any more. */
void server_peer_release(struct peer *peer);
/* A message arrives too slowly; an answer is read too slowly. */
void server_receive_expired(struct waiter *waiter);
void server_send_expired(struct waiter *waiter);

/* Send an answer, and log the call when its outcome is known (server_answer.c). */
void server_send(struct exchange *exchange, struct chunk *chunk);
void server_finish(struct exchange *exchange, const struct error *error);
void server_conclude(struct server_stream *stream, const struct error *error);
void server_refuse(struct server_stream *stream, int http_status, const struct error *error);

/* Take it back from the workers, if it is with them; false: it is running. */
bool server_call_withdraw(struct rpc_call *call);

#endif
