/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_HOST_NODE_H
#define ZCSI_NODE_HOST_NODE_H

/*
 * The state of the daemon that its handlers use; call->app points to it. The structs with a header
 * of their own change while calls are handled, and are thread-safe. Other members do not change.
 */

#include <stddef.h>

#include "common/error.h"
#include "node/catalog/catalog.h"
#include "node/record/dataset.h"
#include "transport/rpc.h"

struct asides;      /* node/host/asides.h */
struct claims;      /* node/host/claims.h */
struct copies;      /* node/stream/copies.h */
struct heard;       /* node/owner/heard.h */
struct keeper;      /* node/schedule/keeper.h */
struct kept;        /* node/agent/kept.h */
struct moves;       /* node/host/moves.h */
struct owners;      /* node/host/owner.h */
struct peers;       /* node/peers/peers.h */
struct settings;    /* node/host/settings.h */
struct size_limits; /* node/host/size_limits.h */

struct topology_segment {
	const char *key, *value;
};

struct node {
	const char *id;
	const char *boot; /* names this boot of the host (node/host/owner.h); NULL in tests */
	struct topology_segment *topology;
	size_t n_topology;
	struct catalog *catalog; /* NULL on a node without a pool */
	int64_t trash_ttl;       /* how long a deleted volume is kept, in seconds */
	unsigned trash_free;     /* empty the trash early with less free, in percent; 0: never */
	const char *address;     /* --address; "": that of the default route, see node_address */
	unsigned max_volumes;    /* how many may be published to one node; 0: no limit */
	const char *data_dir_advice; /* see node/host/data_dir.h */
	struct asides *asides;       /* NULL in tests, and on a node without a pool */
	struct claims *claims;
	struct copies *copies;
	struct heard *heard; /* NULL in tests */
	struct kept *kept;
	struct moves *moves;   /* NULL in tests */
	struct keeper *keeper; /* NULL in tests, and on a node without a pool */
	struct owners *owners; /* NULL in tests */
	struct peers *peers;
	struct size_limits *size_limits;
	struct troubles *unrepaired;     /* lost copies that are not replaced; NULL in tests */
	const struct settings *settings; /* NULL in tests */
};

/* Check that a field of a request is not empty. Returns 0, or -1 with ERR_INVALID_ARGUMENT. */
int request_text(const char *text, const char *field, struct error *err);
/* Returns the address at which other hosts reach this one, in the arena; "" if it has none. */
char *node_address(const struct node *node, struct arena *arena);
/*
 * Check that the node has a pool. Returns 0, or -1 with ERR_FAILED_PRECONDITION, which names the
 * object of the call; kind: "volume" or the like.
 */
int node_need_pool(const struct rpc_call *call, const char *kind, const char *name,
		   struct error *err);
/*
 * *ret is the volume with this id, in the arena. Fails like node_need_pool, catalog_get,
 * owner_check and moves_check: a volume that is moving to another node, or that another node may
 * have taken over, is neither found nor missing.
 */
int node_find(struct rpc_call *call, const char *id, struct dataset **ret, struct error *err);
/*
 * Returns the name of the dataset with this id, whether it exists or not, in the arena. On a node
 * without a pool it is only the leaf.
 */
char *node_dataset_name(struct rpc_call *call, const char *id);

#endif
