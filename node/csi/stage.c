/* SPDX-License-Identifier: MPL-2.0 */
/*
 * NodeStageVolume, which mounts a volume at a staging path, and NodeUnstageVolume, which unmounts
 * it and unloads its key.
 *
 * Invariant: the only state between the calls is mountinfo (node/attach/staging.h). The mark of an
 * idle publication follows from it (idle.h). The mark of a staging path
 * (node/attach/staging_mark.h) is only for NodeUnpublishVolume.
 */
#include <string.h>

#include "common/log.h"
#include "common/volume/map.h"
#include "common/volume/plugin.h"
#include "node/attach/attach.h"
#include "node/attach/family.h"
#include "node/attach/staging_mark.h"
#include "node/mount/path.h"
#include "node/mount/permissions.h"
#include "node/csi/idle.h"
#include "node/csi/renamed.h"
#include "node/csi/request.h"
#include "node/host/node.h"
#include "node/service.h"

/*
 * Mount the volume, then set the permissions of its root directory. A repeated call sets them
 * again, in case zcsi-node was killed between the two.
 */
static int stage(struct rpc_call *call, struct staging *staging, int access_mode, const char *group,
		 struct error *err)
{
	struct permissions permissions;

	if (permissions_parse(staging->root, group, &permissions, err) < 0 ||
	    (staging->dataset &&
	     idle_end(call, staging->dataset, access_mode, &staging->dataset, err) < 0) ||
	    staging_mount(&call->arena, staging, err) < 0)
		return -1;
	permissions.maker = staging->maker;
	return permissions_apply(staging->path, &permissions, err);
}

int node_stage_volume(struct rpc_call *call, const NodeStageVolumeRequest *req,
		      NodeStageVolumeResponse *rsp, struct error *err)
{
	const struct map secrets = map_of(&call->arena, req, secrets);
	const struct node *node = call->app;
	struct mount_request want;
	struct staging staging;
	char *path;

	(void)rsp;
	if (request_text(req->volume_id, "volume_id", err) < 0 ||
	    path_check(req->staging_target_path, "staging_target_path", err) < 0 ||
	    request_capability(req->volume_capability, &want, err) < 0 ||
	    attach_find(call, req, &staging, err) < 0 ||
	    path_canonical(&call->arena, req->staging_target_path, &path, err) < 0)
		return -1;
	if (!path)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "the directory of staging_target_path '%s' does not exist: %s",
			    req->staging_target_path, node->data_dir_advice);
	staging.path = path;
	staging.key = map_get(&secrets, PLUGIN_KEY_SECRET);
	staging.attrs = want.attrs;
	staging.options = want.flags;
	staging.n_options = want.n_flags;
	if (request_fits(&want, staging.format, err) < 0 ||
	    stage(call, &staging, req->volume_capability->access_mode->mode, want.group, err) < 0)
		return fail_context(err, "volume '%s' cannot be mounted on this node",
				    req->volume_id);
	return 0;
}

/*
 * Unmount everything that is stacked at the path; fail if any of it is not the volume. *ret is the
 * present name of the dataset that was unmounted last, or NULL.
 */
static int unmount(struct rpc_call *call, const char *id, const char *path, const char **ret,
		   struct error *err)
{
	struct mount_table table;
	const char *mounted;

	for (*ret = NULL;;) {
		if (mount_table_read(&call->arena, &table, err) < 0)
			return -1;
		const struct mount *top = mount_at(&table, path);
		if (!top)
			return staging_mark_remove(path, err);
		if (renamed_find(call, id, top, &mounted, err) < 0)
			return -1;
		*ret = mounted;
		if (renamed_zvol(call, id, top, ret, err) < 0 ||
		    staging_unmount(&call->arena, mounted, path, err) < 0)
			return -1;
	}
}

/* Unmount the volume from the path, unload its key, and mark its publication as idle. */
static int unstage(struct rpc_call *call, const char *id, const char *path, struct error *err)
{
	const struct node *node = call->app;
	const char *unmounted = NULL;
	struct dataset *dataset;
	struct error gone;

	if (path && unmount(call, id, path, &unmounted, err) < 0)
		return -1;
	/* Record nothing for a renamed volume, even while the catalog still has its old name. */
	if (unmounted && strcmp(unmounted, node_dataset_name(call, id)) != 0)
		return renamed_unload_key(call, unmounted, err);
	/* Record nothing for a volume of another host, which is not found. */
	if (node_find(call, id, &dataset, &gone) < 0) {
		if (unmounted && node->catalog && gone.code != ERR_NOT_FOUND)
			log_warn("cannot unload the key of an unmounted volume, nor record "
				 "that it is unmounted",
				 log_str("volume", id), log_str("error", gone.text));
		return 0;
	}
	if (path && dataset->has_key && family_unload_key(call, dataset->name, err) < 0)
		return -1;
	idle_begin(call, dataset);
	return 0;
}

int node_unstage_volume(struct rpc_call *call, const NodeUnstageVolumeRequest *req,
			NodeUnstageVolumeResponse *rsp, struct error *err)
{
	char *path;

	(void)rsp;
	if (request_text(req->volume_id, "volume_id", err) < 0 ||
	    path_check(req->staging_target_path, "staging_target_path", err) < 0 ||
	    path_canonical(&call->arena, req->staging_target_path, &path, err) < 0)
		return -1;
	if (unstage(call, req->volume_id, path, err) < 0)
		return fail_context(err, "volume '%s' cannot be unmounted from this node",
				    req->volume_id);
	return 0;
}
