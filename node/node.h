/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_H
#define ZCSI_NODE_H

/* The daemon as its handlers see it: call->app. Nothing of it changes once calls arrive. */

#include <stddef.h>

#include "common/error.h"
#include "node/catalog.h"
#include "node/dataset.h"
#include "transport/rpc.h"

struct topology_segment {
	const char *key;
	const char *value;
};

struct node {
	const char *id;
	struct topology_segment *topology;
	size_t n_topology;
	struct catalog *catalog; /* NULL: a node without a pool */
	int64_t trash_ttl;       /* seconds that a deleted volume is kept */
};

/* The volume of an id from the catalog; ERR_FAILED_PRECONDITION when the node has no pool. */
int node_find(struct rpc_call *call, const char *id, struct dataset **ret, struct error *err);
/* What an id's dataset is called here, whether it exists or not; NULL without a pool. */
char *node_dataset_name(struct rpc_call *call, const char *id);

#endif
