/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_HOST_SETTINGS_H
#define ZCSI_NODE_HOST_SETTINGS_H

/* The settings of zcsi-node, from its command line and environment. */

#include <stdbool.h>

#include "common/error.h"
#include "common/options.h"
#include "node/host/node.h"
#include "node/host/size_limits.h"
#include "transport/endpoint.h"
#include "transport/trust.h"

struct settings {
	struct option_list endpoints;
	struct option_list agent_endpoints;
	const char *registration;  /* the socket for kubelet; NULL: none */
	struct endpoint socket;    /* the unix socket in `endpoints` for kubelet */
	struct option_list agents; /* the agent endpoints of other nodes */
	const char *agents_file;   /* a file with more agent endpoints; NULL: none */
	struct trust *trust;
	const char *metrics;      /* the endpoint of the metrics; NULL: not served */
	const char *dataset;      /* POOL/PARENT; NULL on a node without a pool */
	const char *zfs_user;     /* the user to run zfs as; NULL: zcsi-node's own */
	const char *zfs_over_ssh; /* USER@HOST that has the pool; NULL: this host has it */
	bool check;               /* do not serve, only print what is missing */
	unsigned rescan_seconds, zfs_timeout_seconds;
	unsigned trash_ttl;  /* seconds */
	unsigned trash_free; /* percent */
	unsigned max_volumes;
	struct size_limit *limits; /* see size_limits_parse */
	size_t n_limits;
	const char *address; /* --address, else the HOST of --zfs-over-ssh, else "" */
	const char *node_id;
	const char *cache; /* the folder for other hosts' names, which may be lost; "": none */
	struct topology_segment *topology;
	size_t n_topology;
};

/*
 * Parse and check the options. Returns 0, 1 after --help or --version, or -1 with *err. Call it
 * once, and call settings_fini after any result.
 */
int settings_parse(int argc, char **argv, struct settings *ret, struct error *err);
/* Free the memory of the settings. */
void settings_fini(struct settings *settings);

#endif
