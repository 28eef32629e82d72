/* SPDX-License-Identifier: MPL-2.0 */
/*
 * ResizeDataset of zcsi.v1.Agent: growing a volume, and the filesystem on its zvol.
 *
 * Invariant: a dataset never shrinks, and the catalog has its new size before the answer is sent. A
 * call that is repeated does what is left of an earlier one.
 */
#include <inttypes.h>

#include "node/agent/agent.h"
#include "node/agent/trash.h"
#include "node/attach/zvol.h"
#include "node/host/size_limits.h"
#include "node/mount/mountinfo.h"
#include "node/service.h"
#include "node/zfs/zfs_read.h"

static const char *decimal(struct arena *arena, int64_t n)
{
	return arena_printf(arena, "%" PRId64, n);
}

/*
 * Grow a zvol. Its present size is read from ZFS first: the size in the catalog may be old, and a
 * smaller volsize would cut data off. ZFS adjusts the reservation itself.
 */
static int grow_zvol(struct rpc_call *call, struct dataset *dataset, int64_t size,
		     struct error *err)
{
	struct zfs_properties properties = {.n = 0};

	if (zfs_volsize(dataset->name, &dataset->size, err) < 0) {
		agent_reread_on_error(call, dataset->name, err);
		return -1;
	}
	if (size <= dataset->size)
		return 0;
	dataset->size = size;
	zfs_property(&properties, "volsize", decimal(&call->arena, size));
	return agent_set(call, dataset, &properties, err);
}

/*
 * Grow the quota and the reservation of a thick volume. ZFS limits the reservation to the quota, so
 * the quota comes first; it is restored if the pool has no space for the reservation.
 */
static int grow_reserved(struct rpc_call *call, struct dataset *dataset, int64_t size,
			 struct error *err)
{
	struct zfs_properties properties = {.n = 0}, before = {.n = 0};
	struct dataset grown = *dataset;
	struct error ignored;

	zfs_property(&properties, "refquota", decimal(&call->arena, size));
	zfs_property(&properties, "refreservation", decimal(&call->arena, size));
	grown.size = grown.reserved = size;
	if (agent_set(call, &grown, &properties, err) == 0) {
		*dataset = grown;
		return 0;
	}
	zfs_property(&before, "refquota", decimal(&call->arena, dataset->size));
	agent_set(call, dataset, &before, &ignored);
	return -1;
}

static int grow(struct rpc_call *call, struct dataset *dataset, int64_t size, struct error *err)
{
	struct zfs_properties properties = {.n = 0};

	/* Without a quota the volume has no limit to raise. */
	if (!dataset->size)
		return 0;
	if (dataset->format->zvol)
		return grow_zvol(call, dataset, size, err);
	if (size < dataset->size)
		size = dataset->size;
	if (dataset->reserved && dataset->reserved < size)
		return grow_reserved(call, dataset, size, err);
	if (dataset->size == size)
		return 0;
	zfs_property(&properties, "refquota", decimal(&call->arena, size));
	dataset->size = size;
	return agent_set(call, dataset, &properties, err);
}

/* Grow a volume; if the pool has no space for that, once more after the trash was emptied. */
static int grow_found(struct rpc_call *call, const char *id, int64_t size, struct dataset **ret,
		      struct error *err)
{
	if (node_find(call, id, ret, err) < 0)
		return -1;
	if (grow(call, *ret, size, err) == 0)
		return 0;
	if (!trash_made_room(call, err) || node_find(call, id, ret, err) < 0)
		return -1;
	return grow(call, *ret, size, err);
}

static int grow_within_limits(struct rpc_call *call, const char *id, int64_t size,
			      struct dataset **ret, struct error *err)
{
	struct pledge pledge = {.id = id, .size = size};

	if (node_find(call, id, ret, err) < 0)
		return -1;
	/* A volume without a quota does not grow. */
	if (!(*ret)->size)
		pledge.size = 0;
	if (size_limits_begin(call, &pledge, err) < 0)
		return fail_context(err, "volume '%s' cannot be grown", id);
	int failed = grow_found(call, id, size, ret, err);
	size_limits_end(call, &pledge);
	return failed;
}

/* Grow the filesystem on a zvol, if it is mounted: else the next staging grows it. */
static int grow_filesystem(struct rpc_call *call, const struct dataset *dataset, bool *ret,
			   struct error *err)
{
	const struct mount *mount;
	struct mount_table table;

	if (!dataset->format->zvol || !dataset->format->mounts)
		return 0;
	if (mount_table_read(&call->arena, &table, err) < 0)
		return -1;
	mount = mount_of(&table, dataset->name);
	if (!mount)
		return 0;
	if (zvol_grow(dataset->format, mount->target, err) < 0)
		return fail_context(err,
				    "volume '%s' has %" PRId64 " bytes now, but its filesystem at "
				    "'%s' is not grown; run the command again",
				    dataset->id, dataset->size, mount->target);
	*ret = true;
	return 0;
}

int resize_dataset(struct rpc_call *call, const ResizeDatasetRequest *req,
		   ResizeDatasetResponse *rsp, struct error *err)
{
	struct dataset *dataset;
	bool grown = false;

	if (request_text(req->id, "id", err) < 0)
		return -1;
	if (req->size <= 0)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "size of volume '%s' is %" PRId64 "; give a positive number of bytes",
			    req->id, req->size);
	if (grow_within_limits(call, req->id, req->size, &dataset, err) < 0 ||
	    (req->filesystem && grow_filesystem(call, dataset, &grown, err) < 0))
		return -1;
	rsp->dataset = agent_dataset(call, dataset);
	rsp->filesystem_grown = grown;
	return 0;
}
