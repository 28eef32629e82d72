/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi-node: begin, serve, finish.
 *
 * Invariant: it listens before it looks at ZFS, so an orchestrator that probes is answered at
 * once whatever state the pool is in. The mounts it made outlive it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "node/agent.h"
#include "node/node.h"
#include "node/service.h"
#include "node/settings.h"
#include "transport/daemon.h"

#define WORKERS 8

static const struct rpc_service *const csi_services[] = {&identity_service, &node_service, NULL};
static const struct rpc_service *const agent_services[] = {&agent_service, NULL};

static void on_hangup(void *arg)
{
	struct node *node = arg;

	if (node->catalog)
		catalog_rescan(node->catalog);
}

static int listen_at(struct server *server, const struct option_list *endpoints,
		     const struct rpc_service *const *services, struct node *node, bool insecure,
		     struct error *err)
{
	for (size_t i = 0; i < endpoints->n; i++) {
		if (server_listen(server, endpoints->values[i], services, node, insecure, err))
			return -1;
		log_info("listening", log_str("endpoint", endpoints->values[i]));
	}
	return 0;
}

static int begin(struct daemon *daemon, struct node *node, const struct settings *settings,
		 struct error *err)
{
	if (daemon_init(daemon, WORKERS, err) ||
	    loop_on_signal(daemon->loop, SIGHUP, on_hangup, node, err) ||
	    listen_at(daemon->server, &settings->endpoints, csi_services, node, settings->insecure,
		      err) ||
	    listen_at(daemon->server, &settings->agent_endpoints, agent_services, node,
		      settings->insecure, err))
		return -1;
	return node->catalog ? catalog_start(node->catalog, err) : 0;
}

static void free_catalog(void *catalog)
{
	catalog_free(catalog);
}

static int serve(const struct settings *settings)
{
	struct node node = {.id = settings->node_id,
			    .topology = settings->topology,
			    .n_topology = settings->n_topology,
			    .trash_ttl = settings->trash_ttl};
	struct daemon daemon;
	struct error err;

	if (settings->dataset) {
		node.catalog = catalog_new(settings->dataset, settings->rescan_seconds);
		catalog_on_read(node.catalog, trash_reap, &node);
	}
	int failed = begin(&daemon, &node, settings, &err);
	if (failed)
		log_error("cannot start", log_str("error", err.text));
	else
		daemon_run(&daemon);
	daemon_fini(&daemon, free_catalog, node.catalog);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct settings settings;
	struct error err;
	int status = EXIT_SUCCESS;

	int done = settings_parse(argc, argv, &settings, &err);
	if (done < 0) {
		fprintf(stderr, "zcsi-node: %s\n", err.text);
		status = EXIT_FAILURE;
	} else if (!done) {
		status = serve(&settings);
	}
	settings_fini(&settings);
	return status;
}
