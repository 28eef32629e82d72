/* SPDX-License-Identifier: MPL-2.0 */
/*
 * GetDatasetUse of zcsi.v1.Agent: where a volume is mounted on this host.
 *
 * Invariant: an answer without a path means that no staging and no target of the volume is mounted
 * in the namespace of this process, whether the volume is of this host's pool or of another one's.
 */
#include <string.h>

#include "node/csi/request.h"
#include "node/mount/kind.h"
#include "node/record/share.h"
#include "node/service.h"

static bool is_use(const struct mount *mount, const char *name, const char *share)
{
	if (mount_is_network(mount))
		return share_kind(mount->source, name) == SHARE_OF_VOLUME;
	return mount_is_on(mount, name) && strcmp(mount->target, share) != 0;
}

int get_dataset_use(struct rpc_call *call, const GetDatasetUseRequest *req,
		    GetDatasetUseResponse *rsp, struct error *err)
{
	const char *share = share_path(&call->arena, req->name);
	struct mount_table table;

	if (request_text(req->id, "id", err) < 0 || request_text(req->name, "name", err) < 0 ||
	    mount_table_read(&call->arena, &table, err) < 0)
		return -1;
	rsp->paths = arena_alloc(&call->arena, (table.n + 1) * sizeof(*rsp->paths));
	for (size_t i = 0; i < table.n; i++)
		if (is_use(&table.rows[i], req->name, share))
			rsp->paths[rsp->n_paths++] = (char *)table.rows[i].target;
	return 0;
}
