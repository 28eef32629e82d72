/* SPDX-License-Identifier: MPL-2.0 */
/*
 * From a request to what is to be mounted. A way is a row: its name, and what it makes of the
 * request.
 *
 * Invariant: what the controller said last counts, publish_context before volume_context. A volume
 * that was registered by hand in the words of democratic-csi is staged as what they say; of one
 * that nothing is said of it is taken that it is here.
 */
#include "node/attach/attach.h"

#include <stdlib.h>
#include <string.h>

#include "common/volume/map.h"
#include "node/attach/block.h"
#include "node/attach/device.h"
#include "node/zfs/key.h"
#include "node/zfs/argv.h"
#include "node/attach/nfs.h"
#include "node/zfs/ssh.h"
#include "node/attach/zvol.h"

struct context {
	struct map publish, volume;
};

/* Returns a value of the publish_context, or else of the volume_context. */
static const char *said(const struct context *context, const char *key)
{
	const char *value = map_get(&context->publish, key);

	return value ? value : map_get(&context->volume, key);
}

/* Without its key it has no device. */
static int mount_zvol(const struct staging *staging, struct error *err)
{
	if (staging->dataset->has_key && key_load(staging->dataset->name, staging->key, err) < 0)
		return -1;
	return staging->format->mounts ? zvol_stage(staging, err) : block_stage(staging, err);
}

static int find_dataset(struct rpc_call *call, const char *id, const struct context *context,
			struct staging *ret, struct error *err)
{
	struct dataset *dataset;

	(void)context;
	if (ssh_server())
		return fail(err, ERR_FAILED_PRECONDITION,
			    "volume '%s' is on the server '%s' and cannot be used by the node that "
			    "works on it; publish it to another",
			    id, ssh_server());
	if (node_find(call, id, &dataset, err) < 0)
		return -1;
	ret->dataset = dataset;
	ret->format = dataset->format;
	ret->source =
		dataset->format->zvol ? device_path(&call->arena, dataset->name) : dataset->name;
	ret->root = dataset->format->mounts ? dataset->root : "";
	ret->maker = dataset->format->zvol ? 0 : argv_uid();
	ret->mount = dataset->format->zvol ? mount_zvol : staging_mount_dataset;
	ret->check = dataset->format->mounts ? NULL : block_check;
	return 0;
}

/*
 * Find a share of another host. The publish context says which owner and mode its root directory
 * gets, if any.
 */
static int find_share(struct rpc_call *call, const char *id, const struct context *context,
		      struct staging *ret, struct error *err)
{
	const char *server = said(context, "server"), *share = said(context, "share");
	const char *root = map_get(&context->publish, "root");
	const char *maker = map_get(&context->publish, "maker");

	if (!server || !*server || !share || *share != '/')
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume '%s' is attached by NFS, but its context has no 'server' and "
			    "no absolute path as 'share'",
			    id);
	ret->source = nfs_source(&call->arena, server, share);
	ret->format = format_find(FORMAT_NFS);
	ret->root = root ? root : "";
	ret->maker = maker ? (uid_t)atol(maker) : 0;
	ret->mount = nfs_mount;
	return 0;
}

static const struct {
	const char *name;
	int (*find)(struct rpc_call *call, const char *id, const struct context *context,
		    struct staging *ret, struct error *err);
} ways[] = {
	{"local", find_dataset},
	{"nfs", find_share},
};

int attach_find(struct rpc_call *call, const NodeStageVolumeRequest *req, struct staging *ret,
		struct error *err)
{
	const struct context context = {map_of(&call->arena, req, publish_context),
					map_of(&call->arena, req, volume_context)};
	const char *name = map_get(&context.publish, "attach");

	*ret = (struct staging){.call = call};
	if (!name)
		name = map_get(&context.volume, "node_attach_driver");
	for (size_t i = 0; i < COUNT(ways); i++)
		if (!strcmp(name ? name : "local", ways[i].name))
			return ways[i].find(call, req->volume_id, &context, ret, err);
	return fail(err, ERR_FAILED_PRECONDITION,
		    "volume '%s' is to be attached by '%.64s', which this node cannot; run the "
		    "workload where the volume is",
		    req->volume_id, name);
}
