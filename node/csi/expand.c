/* SPDX-License-Identifier: MPL-2.0 */
/*
 * NodeExpandVolume, after ControllerExpandVolume has raised the size. The new size takes effect at
 * once in a ZFS filesystem and a block device; ext4 or XFS on a zvol is grown here, while mounted.
 *
 * Invariant: the size of the dataset is not changed here, and OK means that the volume has the
 * requested size.
 */
#include <inttypes.h>

#include "node/mount/kind.h"
#include "node/csi/request.h"
#include "node/service.h"
#include "node/attach/zvol.h"

/* Returns true if a volume of the format has a filesystem that must be grown. */
static bool grows(const struct format *format)
{
	return format->zvol && format->mounts;
}

static int check_range(const CapacityRange *range, struct error *err)
{
	if (range->required_bytes < 0 || range->limit_bytes < 0)
		return fail(err, ERR_INVALID_ARGUMENT, "capacity_range is negative; give bytes");
	if (range->limit_bytes && range->limit_bytes < range->required_bytes)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "capacity_range.limit_bytes %" PRId64
			    " is below required_bytes %" PRId64 "; raise it",
			    range->limit_bytes, range->required_bytes);
	return 0;
}

/*
 * Check the optional capability. For a volume that does not fit it, CSI wants INVALID_ARGUMENT in
 * this call and FAILED_PRECONDITION in the others.
 */
static int check_capability(const NodeExpandVolumeRequest *req, const struct format *is,
			    struct error *err)
{
	struct mount_request want;

	if (!req->volume_capability)
		return 0;
	if (request_capability(req->volume_capability, &want, err) < 0)
		return -1;
	if (request_fits(&want, is, err) == 0)
		return 0;
	err->code = ERR_INVALID_ARGUMENT;
	return -1;
}

int node_expand_volume(struct rpc_call *call, const NodeExpandVolumeRequest *req,
		       NodeExpandVolumeResponse *rsp, struct error *err)
{
	const CapacityRange *range = req->capacity_range;
	const struct mount *mount;
	struct mount_table table;
	struct dataset *dataset;

	if ((range && check_range(range, err) < 0) ||
	    mounted_find(call, req->volume_id, req->volume_path, &table, &mount, err) < 0)
		return -1;
	/* The agent of the NFS server has raised the quota, and the server enforces it. */
	if (mount_is_network(mount)) {
		rsp->capacity_bytes = range ? range->required_bytes : 0;
		return 0;
	}
	if (node_find(call, req->volume_id, &dataset, err) < 0 ||
	    check_capability(req, dataset->format, err) < 0)
		return -1;
	/* Size 0 means no quota, so any requested size is available. */
	if (range && dataset->size && range->required_bytes > dataset->size)
		return fail(err, ERR_OUT_OF_RANGE,
			    "volume '%s' has %" PRId64 " bytes, not %" PRId64
			    "; call ControllerExpandVolume first (in Nomad: raise capacity_min and "
			    "run 'nomad volume create')",
			    req->volume_id, dataset->size, range->required_bytes);
	if (grows(dataset->format) && zvol_grow(dataset->format, mount->target, err) < 0)
		return fail_context(err, "volume '%s' cannot be expanded", req->volume_id);
	rsp->capacity_bytes = dataset->size;
	return 0;
}
