/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Functions shared by the handlers of all services, most of them to find the dataset of a volume.
 *
 * Invariant: the name of a dataset depends only on its id and the configured parent. So
 * NodeUnstageVolume and NodeUnpublishVolume, which must work without the pool, find their mounts
 * without the catalog.
 */
#include "node/host/node.h"

#include "common/volume/escape.h"
#include "node/host/address.h"
#include "node/host/moves.h"
#include "node/host/owner.h"

char *node_address(const struct node *node, struct arena *arena)
{
	char own[ADDRESS_MAX];

	if (*node->address)
		return arena_strdup(arena, node->address);
	address_default(own);
	return arena_strdup(arena, own);
}

int request_text(const char *text, const char *field, struct error *err)
{
	if (!*text)
		return fail(err, ERR_INVALID_ARGUMENT, "%s is missing", field);
	return 0;
}

int node_need_pool(const struct rpc_call *call, const char *kind, const char *name,
		   struct error *err)
{
	const struct node *node = call->app;

	if (node->catalog)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "node '%s' has no pool, so it has no %s '%s'; start its zcsi-node with "
		    "--dataset POOL/PARENT",
		    node->id, kind, name);
}

static int look_up(struct rpc_call *call, const char *id, struct dataset **ret, struct error *err)
{
	const struct node *node = call->app;

	return catalog_get(node->catalog, call->deadline, &call->arena, id, ret, err);
}

/* A missing volume is looked up again, because a rollback of it may just have ended. */
static int find(struct rpc_call *call, const char *id, struct dataset **ret, struct error *err)
{
	const struct node *node = call->app;
	struct error moving;

	if (moves_check(node->moves, id, err) < 0)
		return -1;
	if (look_up(call, id, ret, err) == 0)
		return 0;
	if (err->code != ERR_NOT_FOUND)
		return -1;
	if (moves_check_missing(node->moves, id, call->deadline, &moving) == 0)
		return look_up(call, id, ret, err);
	*err = moving;
	return -1;
}

int node_find(struct rpc_call *call, const char *id, struct dataset **ret, struct error *err)
{
	const struct node *node = call->app;
	int waited;

	if (node_need_pool(call, "volume", id, err) < 0)
		return -1;
	do {
		if (find(call, id, ret, err) < 0)
			return -1;
		waited = owner_wait(node, *ret, call->deadline, err);
	} while (waited > 0);
	return waited < 0 ? -1 : owner_check(node, *ret, err);
}

char *node_dataset_name(struct rpc_call *call, const char *id)
{
	struct node *node = call->app;
	char leaf[ESCAPE_LEAF_MAX + 1];

	if (node->catalog)
		return dataset_name(&call->arena, catalog_parent(node->catalog), id);
	escape_leaf(id, leaf);
	return arena_strdup(&call->arena, leaf);
}
