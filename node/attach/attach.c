/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Selecting how to attach a volume. Each way is a row of the table `ways`: its name, and the
 * function that turns a NodeStageVolume request into a struct staging.
 *
 * Invariant: publish_context takes precedence over volume_context, because the controller wrote it
 * last. A volume that was registered by hand may use the volume_context of democratic-csi. A volume
 * with neither context is attached from this host's pool.
 */
#include "node/attach/attach.h"

#include <stdlib.h>
#include <string.h>

#include "common/volume/map.h"
#include "node/attach/block.h"
#include "node/attach/device.h"
#include "node/zfs/argv.h"
#include "node/attach/nfs.h"
#include "node/zfs/ssh.h"
#include "node/attach/zvol.h"

struct context {
	struct map publish, volume;
};

/* Returns the value of a key in publish_context, or else in volume_context; NULL: in neither. */
static const char *context_value(const struct context *context, const char *key)
{
	const char *value = map_get(&context->publish, key);

	return value ? value : map_get(&context->volume, key);
}

static int mount_zvol(const struct staging *staging, struct error *err)
{
	return staging->format->mounts ? zvol_stage(staging, err) : block_stage(staging, err);
}

static int check_zvol(const struct staging *staging, const struct mount *mount, struct error *err)
{
	return device_check(staging->dataset->name, mount, staging->call->deadline, err);
}

static int find_dataset(struct rpc_call *call, const char *id, const struct context *context,
			struct staging *ret, struct error *err)
{
	struct dataset *dataset;

	(void)context;
	if (ssh_server())
		return fail(err, ERR_FAILED_PRECONDITION,
			    "volume '%s' is on the server '%s' and cannot be mounted on the node "
			    "that manages the pool of that server; run the workload on another "
			    "node",
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
	ret->check = dataset->format->zvol ? check_zvol : NULL;
	return 0;
}

/*
 * Find a share of another host. publish_context has the owner and mode for its root directory, if
 * the volume's creator asked for any.
 */
static int find_share(struct rpc_call *call, const char *id, const struct context *context,
		      struct staging *ret, struct error *err)
{
	const char *server = context_value(context, "server");
	const char *share = context_value(context, "share");
	const char *root = map_get(&context->publish, "root");
	const char *maker = map_get(&context->publish, "maker");

	if (!server || !*server || !share || *share != '/')
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume '%s' is attached by NFS, but its volume_context (in Nomad the "
			    "block 'context') lacks 'server' or an absolute path as 'share'; "
			    "register it with both",
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
		    "volume '%s' is to be attached by '%.64s', which zcsi-node does not support; "
		    "register it with the node_attach_driver 'nfs', or none if it is in this "
		    "node's pool",
		    req->volume_id, name);
}
