/* SPDX-License-Identifier: MPL-2.0 */
/*
 * From a volume_path to the mount there. See mounted.h.
 *
 * Invariant: mountinfo alone decides. A path at which nothing of ours can be, a relative one say,
 * is one more where the volume is not: CSI knows no other error for it.
 */
#include "node/csi/mounted.h"

#include "node/mount/path.h"
#include "node/csi/request.h"

int mounted_find(struct rpc_call *call, const char *id, const char *path,
		 struct mount_table *ret_table, const struct mount **ret, struct error *err)
{
	char *canonical = NULL;

	if (request_text(id, "volume_id", err) < 0 || request_text(path, "volume_path", err) < 0)
		return -1;
	const char *dataset = node_dataset_name(call, id);
	if (path_check(path, "volume_path", err) == 0 &&
	    path_canonical(&call->arena, path, &canonical, err) < 0)
		return -1;
	if (mount_table_read(&call->arena, ret_table, err) < 0)
		return -1;
	*ret = canonical ? mount_of_at(ret_table, dataset, canonical) : NULL;
	if (!*ret)
		return fail(err, ERR_NOT_FOUND,
			    "volume '%s' is not mounted at '%s'; give a path where it is staged or "
			    "published",
			    id, path);
	return 0;
}
