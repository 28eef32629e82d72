/* SPDX-License-Identifier: MPL-2.0 */
/*
 * NodeGetVolumeStats: the usage and the condition of a volume.
 *
 * Invariant: the call answers in bounded time if the volume is mounted at the requested path. If
 * its filesystem does not answer, the condition reports that and the usage stays empty, because an
 * unknown number is not zero.
 */
#include "node/attach/block.h"
#include "node/csi/condition.h"
#include "node/mount/kind.h"
#include "node/csi/request.h"
#include "node/service.h"

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

/* Report the size of a block device. Its usage depends on the workload and is unknown. */
static int fill_device(struct arena *arena, const struct mount *mount,
		       NodeGetVolumeStatsResponse *rsp, struct error *err)
{
	VolumeUsage *row = new_volume_usage(arena);

	row->unit = VOLUME_USAGE_UNIT_BYTES;
	if (block_size(mount, &row->total, err) < 0)
		return -1;
	rsp->usage = arena_alloc(arena, sizeof(*rsp->usage));
	rsp->usage[rsp->n_usage++] = row;
	return 0;
}

int node_get_volume_stats(struct rpc_call *call, const NodeGetVolumeStatsRequest *req,
			  NodeGetVolumeStatsResponse *rsp, struct error *err)
{
	struct condition condition = {.text = "it is mounted and answers"};
	struct condition_facts facts;
	const struct mount *mount;
	struct mount_table table;
	struct statvfs fs;

	if (mounted_find(call, req->volume_id, req->volume_path, &table, &mount, err) < 0)
		return -1;
	condition_gather(call, req->volume_id, &table, mount, &facts, &fs);
	bool answers = facts.top == mount && !facts.error;
	if (answers && mount_format(mount)->mounts)
		fill_usage(&call->arena, &fs, rsp);
	else if (answers && fill_device(&call->arena, mount, rsp, err) < 0)
		return -1;
	rsp->volume_condition = new_volume_condition(&call->arena);
	rsp->volume_condition->abnormal = condition_judge(&call->arena, &facts, &condition);
	rsp->volume_condition->message = arena_strdup(&call->arena, condition.text);
	return 0;
}
