/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_SERVER_H
#define ZCSI_SERVER_H

/*
 * The gRPC server: its listeners, its calls, and its stop. Loop thread only. When a call ends, one
 * line is logged.
 */

#include <stdbool.h>
#include <stdio.h>

#include "common/error.h"
#include "transport/limits.h"
#include "transport/loop.h"
#include "transport/service.h"
#include "transport/trust.h"
#include "transport/workers.h"

struct server;

/* Returns a server without endpoints. limits may be NULL for limits_default. */
struct server *server_new(struct loop *loop, struct workers *workers, const struct limits *limits);
/* Close all connections and free the server. Call after loop_run has returned. */
void server_free(struct server *server);

/* The services of an endpoint, and its permitted callers. All pointers outlive the server. */
struct server_offer {
	const struct rpc_service *const *services; /* array that ends with NULL */
	void *app;                                 /* passed to every handler as call->app */
	const struct trust *trust; /* TLS and callers; NULL: plain text on loopback only */
};

/*
 * Serve an offer at an endpoint: unix:///path, unix:path, /path or tcp://host:port. A unix socket
 * has mode 0600; a stale one is replaced, a live one is an error. Returns -1 as acceptor_open does.
 */
int server_listen(struct server *server, const char *endpoint, const struct server_offer *offer,
		  struct error *err);

/*
 * Stop the server: accept no connections (unix sockets are removed), send GOAWAY on the open ones,
 * and finish the running calls. Then drained(arg) is called once, on the loop.
 */
void server_drain(struct server *server, void (*drained)(void *arg), void *arg);
/* True after server_drain. */
bool server_is_draining(const struct server *server);

/* Write metrics: open connections, running calls, bytes received and sent (common/metrics.h). */
void server_metrics(const struct server *server, FILE *out);

#endif
