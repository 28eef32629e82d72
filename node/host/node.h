/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_HOST_NODE_H
#define ZCSI_NODE_HOST_NODE_H

/*
 * The daemon as its handlers see it: call->app. Nothing of it but the claims changes once calls
 * arrive.
 */

#include <stddef.h>

#include "common/error.h"
#include "node/catalog/catalog.h"
#include "node/record/dataset.h"
#include "transport/rpc.h"

struct claims; /* node/agent/claims.h */

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
	const char *address;     /* "": the host's own, wherever its routes lead */
	unsigned max_volumes;    /* published to one node at a time; 0: no limit */
	struct claims *claims;
};

/* ERR_INVALID_ARGUMENT when a field of a request is empty. */
int request_text(const char *text, const char *field, struct error *err);
/* Returns the address at which other hosts reach this one; "" when it has none. */
char *node_address(const struct node *node, struct arena *arena);
/* ERR_FAILED_PRECONDITION when the node has no pool, and so not this volume, say. */
int node_need_pool(const struct rpc_call *call, const char *kind, const char *name,
		   struct error *err);
/* The volume of an id from the catalog, as node_need_pool. */
int node_find(struct rpc_call *call, const char *id, struct dataset **ret, struct error *err);
/*
 * Returns the name that an id's dataset has here, whether it exists or not; without a pool, its
 * leaf.
 */
char *node_dataset_name(struct rpc_call *call, const char *id);

#endif
