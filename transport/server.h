/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_SERVER_H
#define ZCSI_SERVER_H

/*
 * The gRPC server: listeners, the calls that arrive, and how it stops. Loop thread only.
 * One line is logged when a call ends.
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

/* limits: NULL takes limits_default. */
struct server *server_new(struct loop *loop, struct workers *workers, const struct limits *limits);
/* After loop_run has returned; closes what is open. */
void server_free(struct server *server);

/*
 * The services of an endpoint, and its callers. Everything that it points to outlives the server.
 */
struct server_offer {
	const struct rpc_service *const *services; /* the last one NULL */
	void *app;                                 /* call->app of every handler */
	const struct trust *trust;                 /* NULL: plain text, on loopback only */
};

/*
 * Serve at an endpoint: unix:///path, unix://path, /path, tcp://host:port. A stale unix socket is
 * replaced, a live one is an error; sockets are mode 0600.
 */
int server_listen(struct server *server, const char *endpoint, const struct server_offer *offer,
		  struct error *err);

/*
 * Stop: no new connections (unix sockets are removed), GOAWAY to the ones there are, finish
 * what runs; then drained(arg), once, on the loop.
 */
void server_drain(struct server *server, void (*drained)(void *arg), void *arg);
bool server_is_draining(const struct server *server);

/*
 * Write the numbers of open connections and running calls, and the bytes moved (common/metrics.h).
 */
void server_metrics(const struct server *server, FILE *out);

#endif
