/* SPDX-License-Identifier: MPL-2.0 */
/*
 * NodeExpandVolume. ControllerExpandVolume has raised the size, which a ZFS filesystem and a device
 * obey at once; what is left is the file system on a zvol, online, and to say how large it is.
 *
 * Invariant: the size of a volume is not changed here, and OK means that it has the size asked for.
 */
#include <inttypes.h>

#include "node/mount/kind.h"
#include "node/csi/request.h"
#include "node/service.h"
#include "node/attach/zvol.h"

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
			    " is below required_bytes %" PRId64,
			    range->limit_bytes, range->required_bytes);
	return 0;
}

/* Check the capability, if there is one. CSI has another code here than for the other calls. */
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
	/* The quota has grown at the owner, whose NFS server enforces it. */
	if (mount_is_network(mount)) {
		rsp->capacity_bytes = range ? range->required_bytes : 0;
		return 0;
	}
	if (node_find(call, req->volume_id, &dataset, err) < 0 ||
	    check_capability(req, dataset->format, err) < 0)
		return -1;
	/* A size of 0 is no quota: room for whatever was asked. */
	if (range && dataset->size && range->required_bytes > dataset->size)
		return fail(err, ERR_OUT_OF_RANGE,
			    "volume '%s' has %" PRId64 " bytes, not %" PRId64
			    "; call ControllerExpandVolume first (in Nomad: raise capacity_min and "
			    "run 'nomad volume create')",
			    req->volume_id, dataset->size, range->required_bytes);
	if (grows(dataset->format) && zvol_grow(dataset->format, mount->target, err) < 0)
		return fail_context(err, "volume '%s' is not expanded", req->volume_id);
	rsp->capacity_bytes = dataset->size;
	return 0;
}
