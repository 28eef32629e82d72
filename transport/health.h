/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_HEALTH_H
#define ZCSI_HEALTH_H

/*
 * grpc.health.v1 on every endpoint: each service of the endpoint is SERVING until the server stops.
 * Nothing else is reported: restarting a daemon does not bring a missing pool back.
 */

#include "transport/service.h"

struct server;

extern const struct rpc_service health_service;

/* A Watch that is open: one of its server's list. */
struct health_watch;

/* The server is draining: tell who watches, and end that. */
void health_stop(struct server *server);

#endif
