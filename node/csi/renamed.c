/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Volumes whose dataset was renamed by hand, as by `zfs rename -u`, while they were mounted. The
 * mounts stay, and mountinfo shows the new name as their source. The mount of a zvol keeps the
 * zvol's old name as its source, so the mount is found like that of any volume, and the new name by
 * its device.
 *
 * Invariant: a mount is of a volume only if its source is the volume's dataset, or if ZFS has the
 * volume's id recorded on the dataset that is its source. All others are left mounted, and no call
 * that should unmount them succeeds.
 */
#include "node/csi/renamed.h"

#include <string.h>

#include "common/log.h"
#include "node/attach/device_name.h"
#include "node/attach/family.h"
#include "node/mount/kind.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

/*
 * Returns true if the mount is of a whole filesystem of this node's pool, where a renamed dataset
 * is too.
 */
static bool is_of_pool(const struct node *node, const struct mount *mount)
{
	const struct format *format = mount_format(mount);

	if (!node->catalog || ssh_server() || !format || strcmp(format->name, FORMAT_ZFS) != 0 ||
	    strcmp(mount->root, "/") != 0)
		return false;
	const char *parent = catalog_parent(node->catalog);
	return !strncmp(mount->source, parent, strcspn(parent, "/") + 1);
}

int renamed_find(struct rpc_call *call, const char *id, const struct mount *mount, const char **ret,
		 struct error *err)
{
	const struct node *node = call->app;
	bool is_renamed = false;

	*ret = node_dataset_name(call, id);
	if (mount_is_of(mount, *ret))
		return 0;
	if (mount_is_on(mount, *ret))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "only the directory '%s' of this volume is mounted at '%s'; run "
			    "'umount %s'",
			    mount->root, mount->target, mount->target);
	if (is_of_pool(node, mount) && zfs_is_volume(mount->source, id, &is_renamed, err) < 0)
		return -1;
	if (!is_renamed)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s', which is not this volume, is mounted at '%s'; run 'umount %s'",
			    mount->source, mount->target, mount->target);
	*ret = arena_strdup(&call->arena, mount->source);
	log_warn("volume is mounted under another name, because its dataset was renamed",
		 log_str("volume", id), log_str("dataset", *ret), log_str("path", mount->target));
	return 0;
}

int renamed_zvol(struct rpc_call *call, const char *id, const struct mount *mount, const char **ret,
		 struct error *err)
{
	const struct node *node = call->app;
	const struct format *format = mount_format(mount);
	bool is_renamed = false;

	if (!node->catalog || !format || !format->zvol)
		return 0;
	const char *name = device_name(&call->arena, mount);
	if (!strcmp(name, *ret))
		return 0;
	if (zfs_is_volume(name, id, &is_renamed, err) < 0)
		return -1;
	if (is_renamed)
		*ret = name;
	return 0;
}

int renamed_unload_key(struct rpc_call *call, const char *dataset, struct error *err)
{
	return zfs_is_the_kernels() ? family_unload_key(call, dataset, err) : 0;
}
