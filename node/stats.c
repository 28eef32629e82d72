/* SPDX-License-Identifier: MPL-2.0 */
/*
 * NodeGetVolumeStats: how full a volume is, and whether it is as it should be.
 *
 * Invariant: a volume that is mounted where it was asked about gets an answer, in bounded time.
 * When its filesystem has none, the condition says so and the usage stays empty, since a number
 * that is not known is not zero.
 */
#include <errno.h>

#include "node/condition.h"
#include "node/mounted.h"
#include "node/service.h"
#include "node/usage.h"

#define ANSWER_MS 5000 /* what a filesystem that works needs at the very most */
#define HURRY_MS  200  /* what is left of the caller's deadline to send the answer */

static VolumeUsage *usage(struct arena *arena, VolumeUsage_Unit unit, uint64_t total, uint64_t free,
			  uint64_t available, uint64_t size)
{
	VolumeUsage *row = new_volume_usage(arena);

	row->unit = unit;
	row->total = (int64_t)(total * size);
	row->used = (int64_t)((total > free ? total - free : 0) * size);
	row->available = (int64_t)(available * size);
	return row;
}

static void fill_usage(struct arena *arena, const struct statvfs *fs,
		       NodeGetVolumeStatsResponse *rsp)
{
	rsp->usage = arena_alloc(arena, 2 * sizeof(*rsp->usage));
	rsp->usage[rsp->n_usage++] = usage(arena, VOLUME_USAGE_UNIT_BYTES, fs->f_blocks,
					   fs->f_bfree, fs->f_bavail, fs->f_frsize);
	rsp->usage[rsp->n_usage++] =
		usage(arena, VOLUME_USAGE_UNIT_INODES, fs->f_files, fs->f_ffree, fs->f_favail, 1);
}

static int64_t answer_deadline(const struct rpc_call *call)
{
	int64_t limit = now_ms() + ANSWER_MS;

	return call->deadline == NO_DEADLINE || call->deadline - HURRY_MS > limit
		       ? limit
		       : call->deadline - HURRY_MS;
}

/* While the pool is still being read there is nothing to say of it, and it is not a problem. */
static void ask_catalog(struct rpc_call *call, const char *id, int64_t deadline,
			struct condition_facts *facts)
{
	struct node *node = call->app;
	struct dataset *dataset;
	struct error err = {.code = ERR_OK};

	catalog_get(node->catalog, deadline, &call->arena, id, &dataset, &err);
	facts->has_dataset = err.code != ERR_NOT_FOUND;
	facts->pool_problem =
		err.code == ERR_FAILED_PRECONDITION ? arena_strdup(&call->arena, err.text) : "";
}

int node_get_volume_stats(struct rpc_call *call, const NodeGetVolumeStatsRequest *req,
			  NodeGetVolumeStatsResponse *rsp, struct error *err)
{
	struct condition_facts facts = {0};
	struct mount_table table;
	struct statvfs fs = {0};
	int64_t deadline = answer_deadline(call);

	if (mounted_find(call, req->volume_id, req->volume_path, &table, &facts.mount, err))
		return -1;
	facts.top = mount_at(&table, facts.mount->target);
	if (facts.top == facts.mount) {
		facts.error = usage_ask(facts.mount, deadline, &fs);
		facts.frozen = fs.f_flag & ST_RDONLY;
		if (!facts.error)
			fill_usage(&call->arena, &fs, rsp);
	}
	ask_catalog(call, req->volume_id, deadline, &facts);
	const char *problem = condition_problem(&call->arena, &facts);
	rsp->volume_condition = new_volume_condition(&call->arena);
	rsp->volume_condition->abnormal = problem != NULL;
	rsp->volume_condition->message =
		arena_strdup(&call->arena, problem ? problem : "it is mounted and answers");
	return 0;
}
