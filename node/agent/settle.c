/* SPDX-License-Identifier: MPL-2.0 */
/*
 * SettleDataset of zcsi.v1.Agent: a volume that this host and another one have, because it was made
 * again while one of the two was away.
 *
 * Invariant: a volume that is marked as used is not moved to the trash here, and a controller has
 * the volume of one host marked as used before it asks the other host to give up its own. So at
 * least one of the two stays, whatever controllers ask at the same time. The mark is permanent: it
 * is the property zcsi:published, which zcsi never removes.
 */
#include <string.h>

#include "common/log.h"
#include "node/agent/agent.h"
#include "node/agent/origin.h"
#include "node/agent/trash.h"
#include "node/attach/blank.h"
#include "node/service.h"

static int count_as_used(struct rpc_call *call, struct dataset *dataset, struct error *err)
{
	struct node *node = call->app;
	struct zfs_properties properties = {.n = 0};

	if (dataset->was_used)
		return 0;
	zfs_property(&properties, "zcsi:published", "-");
	if (zfs_set(dataset->name, &properties, err) < 0)
		return -1;
	dataset->was_used = true;
	catalog_put(node->catalog, dataset);
	return 0;
}

static int check_blank(struct arena *arena, const struct dataset *dataset, size_t children,
		       struct error *err)
{
	if (children)
		return fail(err, ERR_FAILED_PRECONDITION, "%zu datasets are below it", children);
	if (!dataset_may_be_blank(dataset))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "it may have data: it was attached to a node, or has a snapshot, or is "
			    "not a filesystem that can be looked through");
	return blank_check(arena, dataset, err);
}

/*
 * Move a blank volume to the trash. Mark a volume that is not blank as used, so no later call looks
 * for files in it.
 */
static int give_up(struct rpc_call *call, struct dataset *dataset, size_t children,
		   const char *keeper, struct error *err)
{
	const struct node *node = call->app;
	struct error ignored;

	if (check_blank(&call->arena, dataset, children, err) < 0) {
		count_as_used(call, dataset, &ignored);
		return -1;
	}
	if (trash_keep(call, dataset, err) < 0)
		return -1;
	log_warn("volume is in the trash: it was never used, and another node has it too",
		 log_str("volume", dataset->id), log_str("node", node->id),
		 log_str("other", keeper), log_str("dataset", dataset->name));
	return 0;
}

static int settle(struct rpc_call *call, const struct dataset *known, const char *keeper,
		  struct error *err)
{
	const struct node *node = call->app;
	size_t children;
	struct dataset *dataset =
		agent_prove(&call->arena, catalog_parent(node->catalog), known, &children, err);

	if (!dataset)
		return -1;
	if (!*keeper)
		return count_as_used(call, dataset, err);
	return give_up(call, dataset, children, keeper, err);
}

int settle_dataset(struct rpc_call *call, const SettleDatasetRequest *req,
		   SettleDatasetResponse *rsp, struct error *err)
{
	const struct node *node = call->app;
	struct dataset *known;

	(void)rsp;
	if (request_text(req->id, "id", err) < 0)
		return -1;
	if (node_find(call, req->id, &known, err) < 0)
		return err->code == ERR_NOT_FOUND && *req->keeper ? 0 : -1;
	if (!req->guid || known->guid != req->guid)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "volume '%s' is another one than when it was looked for: try again",
			    req->id);
	const char *key = origin_key(&call->arena, known->name);
	if (catalog_lock_key(node->catalog, call->deadline, key, err) < 0)
		return -1;
	int failed = settle(call, known, req->keeper, err);
	catalog_unlock_key(node->catalog, key);
	return failed ? fail_context(err, "volume '%s' is not settled", req->id) : 0;
}
