/* SPDX-License-Identifier: MPL-2.0 */
/*
 * NodeGetVolumeHealth, the problems of one volume, and NodeGetStorageHealth, those of the pool.
 *
 * Invariant: NodeGetVolumeHealth and NodeGetVolumeStats report the same condition. A volume that is
 * not mounted is healthy if its dataset exists; a volume without mount and dataset is NOT_FOUND.
 */
#include "node/csi/condition.h"
#include "node/mount/path.h"
#include "node/csi/request.h"
#include "node/host/node.h"
#include "node/service.h"

/*
 * *ret is the volume's mount at one of the requested paths, or else at any path; NULL if it is not
 * mounted.
 */
static int find_mount(struct rpc_call *call, const NodeGetVolumeHealthRequest *req,
		      struct mount_table *ret_table, const struct mount **ret, struct error *err)
{
	const char *const paths[] = {req->volume_publish_path, req->staging_target_path};
	const char *dataset = node_dataset_name(call, req->volume_id);

	*ret = NULL;
	if (mount_table_read(&call->arena, ret_table, err) < 0)
		return -1;
	for (size_t i = 0; i < COUNT(paths) && !*ret; i++) {
		char *canonical;
		struct error ignored;
		if (*paths[i] && path_check(paths[i], "path", &ignored) == 0 &&
		    path_canonical(&call->arena, paths[i], &canonical, &ignored) == 0)
			*ret = mount_of_at(ret_table, dataset, canonical);
	}
	if (!*ret)
		*ret = mount_of(ret_table, dataset);
	return 0;
}

static VolumeHealth *volume_health(struct arena *arena, const char *id,
				   const struct condition_facts *facts)
{
	VolumeHealth *health = new_volume_health(arena);
	struct condition condition;

	health->volume_id = arena_strdup(arena, id);
	if (!condition_judge(arena, facts, &condition))
		return health;
	VolumeHealth_VolumeHealthEntry *entry = new_volume_health_volume_health_entry(arena);
	entry->status = condition.status;
	entry->reason = arena_strdup(arena, condition.reason);
	entry->message = arena_strdup(arena, condition.text);
	health->n_health_statuses = 1;
	health->health_statuses = arena_alloc(arena, sizeof(*health->health_statuses));
	health->health_statuses[0] = entry;
	return health;
}

int node_get_volume_health(struct rpc_call *call, const NodeGetVolumeHealthRequest *req,
			   NodeGetVolumeHealthResponse *rsp, struct error *err)
{
	struct condition_facts facts;
	const struct mount *mount;
	struct mount_table table;
	struct statvfs fs;

	if (request_text(req->volume_id, "volume_id", err) < 0 ||
	    find_mount(call, req, &table, &mount, err) < 0)
		return -1;
	condition_gather(call, req->volume_id, &table, mount, &facts, &fs);
	if (!mount && !facts.has_dataset && !*facts.pool_problem)
		return fail(err, ERR_NOT_FOUND,
			    "volume '%s' is neither mounted on this node nor in its pool",
			    req->volume_id);
	rsp->volume_health = volume_health(&call->arena, req->volume_id, &facts);
	return 0;
}

int node_get_storage_health(struct rpc_call *call, const NodeGetStorageHealthRequest *req,
			    NodeGetStorageHealthResponse *rsp, struct error *err)
{
	const struct node *node = call->app;
	struct catalog_pool pool;

	(void)req, (void)err;
	if (!node->catalog)
		return 0;
	catalog_pool(node->catalog, &call->arena, &pool);
	if (pool.reading || !*pool.problem)
		return 0;
	NodeGetStorageHealthResponse_StorageBackendHealth *entry =
		new_node_get_storage_health_response_storage_backend_health(&call->arena);
	entry->status = STORAGE_HEALTH_ERROR_TYPE_STORAGE_UNREACHABLE;
	entry->reason = arena_strdup(&call->arena, "PoolUnavailable");
	entry->message = arena_strdup(&call->arena, pool.problem);
	rsp->n_backend_health = 1;
	rsp->backend_health = arena_alloc(&call->arena, sizeof(*rsp->backend_health));
	rsp->backend_health[0] = entry;
	return 0;
}
