/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_HEALTH_H
#define ZCSI_HEALTH_H

/*
 * grpc.health.v1 on every endpoint: each service of the endpoint is SERVING until the server stops.
 * A missing pool is not reported here, because an orchestrator would restart the daemon, which does
 * not repair the pool.
 */

#include "transport/service.h"

struct server;

extern const struct rpc_service health_service;

/* An open Watch call, member of server->watches. */
struct health_watch;

/* Send NOT_SERVING to every open Watch and end it. Called when the server starts to drain. */
void health_stop(struct server *server);

#endif
