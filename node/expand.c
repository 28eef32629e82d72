/* SPDX-License-Identifier: MPL-2.0 */
/*
 * NodeExpandVolume. A filesystem's size is its quota, which ControllerExpandVolume has raised and
 * which a mount obeys at once: there is nothing left to do but to say how large it is.
 *
 * Invariant: nothing is changed here, and OK means that the volume has the size asked for.
 */
#include <inttypes.h>

#include "node/mounted.h"
#include "node/service.h"

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

int node_expand_volume(struct rpc_call *call, const NodeExpandVolumeRequest *req,
		       NodeExpandVolumeResponse *rsp, struct error *err)
{
	const CapacityRange *range = req->capacity_range;
	const struct mount *mount;
	struct mount_table table;
	struct dataset *dataset;

	if ((range && check_range(range, err)) ||
	    mounted_find(call, req->volume_id, req->volume_path, &table, &mount, err) ||
	    node_find(call, req->volume_id, &dataset, err))
		return -1;
	/* A size of 0 is no quota: room for whatever was asked. */
	if (range && dataset->size && range->required_bytes > dataset->size)
		return fail(err, ERR_OUT_OF_RANGE,
			    "volume '%s' has %" PRId64 " bytes, not %" PRId64
			    "; call ControllerExpandVolume first (in Nomad: raise capacity_min and "
			    "run 'nomad volume create')",
			    req->volume_id, dataset->size, range->required_bytes);
	rsp->capacity_bytes = dataset->size;
	return 0;
}
