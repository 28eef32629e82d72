/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_HOST_SETTINGS_H
#define ZCSI_NODE_HOST_SETTINGS_H

/* The settings of zcsi-node, from its command line and environment. */

#include <stdbool.h>

#include "common/error.h"
#include "common/options.h"
#include "node/host/node.h"
#include "transport/trust.h"

struct settings {
	struct option_list endpoints;
	struct option_list agent_endpoints;
	struct trust *trust;
	const char *metrics;      /* NULL: not served */
	const char *dataset;      /* NULL: a node without a pool */
	const char *zfs_user;     /* NULL: as we are */
	const char *zfs_over_ssh; /* USER@HOST; NULL: the pool is this host's */
	bool check;               /* do not serve, only say what is missing */
	unsigned rescan_seconds, zfs_timeout_seconds;
	unsigned trash_ttl; /* seconds */
	unsigned max_volumes;
	const char *address; /* "": not given; of a server its name */
	const char *node_id;
	struct topology_segment *topology;
	size_t n_topology;
};

/* As options_parse: 0, 1 after --help or --version, -1. Once; settings_fini in each case. */
int settings_parse(int argc, char **argv, struct settings *ret, struct error *err);
void settings_fini(struct settings *settings);

#endif
