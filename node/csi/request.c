/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Checks that several calls of csi.v1.Node share. Error texts name the wrong field.
 *
 * Invariant: the checks of a capability depend on the request alone; only mounted_find reads the
 * state of the host.
 */
#include "node/csi/request.h"

#include <string.h>
#include <sys/mount.h>

#include "node/mount/mount.h"
#include "node/record/publication.h"
#include "node/mount/flags.h"
#include "node/mount/path.h"

static int check_access_mode(const VolumeCapability *capability, struct error *err)
{
	if (!capability->access_mode ||
	    capability->access_mode->mode == VOLUME_CAPABILITY_ACCESS_MODE_MODE_UNKNOWN)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume_capability.access_mode is missing; give one of CSI 1.13");
	if (!access_mode_known(capability->access_mode->mode))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume_capability.access_mode %d is not known; use one of CSI 1.13",
			    (int)capability->access_mode->mode);
	return 0;
}

/*
 * Returns true for the access modes with one target on a node, by CSI's table for a second
 * NodePublishVolume call.
 */
static bool has_one_target(int access_mode)
{
	return access_mode == VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_WRITER ||
	       access_mode == VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_READER_ONLY ||
	       access_mode == VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_SINGLE_WRITER;
}

/* Parse the mount part of a capability. */
static int parse_mount(const VolumeCapability_MountVolume *mount, struct mount_request *ret,
		       struct error *err)
{
	const struct format *format = format_find(mount->fs_type);

	if (*mount->fs_type && (!format || !format->mounts))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "fs_type '%s' is not supported; leave it empty or use 'zfs', 'ext4', "
			    "'xfs' or, for a share of another storage server, 'nfs'",
			    mount->fs_type);
	ret->format = mount->fs_type;
	ret->group = mount->volume_mount_group;
	ret->flags = mount->mount_flags;
	ret->n_flags = mount->n_mount_flags;
	return mount_attrs_parse(mount->mount_flags, mount->n_mount_flags, &ret->attrs, err);
}

int request_capability(const VolumeCapability *capability, struct mount_request *ret,
		       struct error *err)
{
	if (!capability)
		return fail(err, ERR_INVALID_ARGUMENT, "volume_capability is missing");
	if (check_access_mode(capability, err) < 0)
		return -1;
	int mode = capability->access_mode->mode;
	*ret = (struct mount_request){
		.one_target = has_one_target(mode), .format = FORMAT_BLOCK, .group = ""};
	if (capability->access_type_case == VOLUME_CAPABILITY_ACCESS_TYPE_NOT_SET)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume_capability has no access type; ask for mount or block");
	if (capability->access_type_case == VOLUME_CAPABILITY_ACCESS_TYPE_MOUNT &&
	    parse_mount(capability->mount, ret, err) < 0)
		return -1;
	if (access_mode_readonly(mode))
		ret->attrs |= MOUNT_ATTR_RDONLY;
	return 0;
}

int request_fits(const struct mount_request *want, const struct format *is, struct error *err)
{
	if (is && format_fits(want->format, is))
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION, "it is %s and cannot be used as '%s'; %s",
		    is ? is->description : "mounted by another tool",
		    *want->format ? want->format : "a mount",
		    is ? is->advice : "unmount it and restart the job");
}

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
			    "volume '%s' is not mounted at '%s'; give a path where it is mounted",
			    id, path);
	return 0;
}
