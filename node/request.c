/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Checks of what requests bring, in the words of the field that is wrong.
 *
 * Invariant: nothing here looks at the host; a request passes or fails by itself.
 */
#include "node/request.h"

#include <string.h>
#include <sys/mount.h>

#include "node/mount.h"
#include "node/publication.h"

int request_text(const char *text, const char *field, struct error *err)
{
	if (!*text)
		return fail(err, ERR_INVALID_ARGUMENT, "%s is missing", field);
	return 0;
}

static int check_access_mode(const VolumeCapability *capability, struct error *err)
{
	if (!capability->access_mode ||
	    capability->access_mode->mode == VOLUME_CAPABILITY_ACCESS_MODE_MODE_UNKNOWN)
		return fail(err, ERR_INVALID_ARGUMENT, "volume_capability.access_mode is missing");
	if (!access_mode_known(capability->access_mode->mode))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume_capability.access_mode %d is not known; use one of CSI 1.12",
			    (int)capability->access_mode->mode);
	return 0;
}

/* CSI's table of second NodePublishVolume calls: these modes have one target on a node. */
static bool has_one_target(int access_mode)
{
	return access_mode == VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_WRITER ||
	       access_mode == VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_READER_ONLY ||
	       access_mode == VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_SINGLE_WRITER;
}

int request_capability(const VolumeCapability *capability, struct mount_request *ret,
		       struct error *err)
{
	if (!capability)
		return fail(err, ERR_INVALID_ARGUMENT, "volume_capability is missing");
	if (check_access_mode(capability, err))
		return -1;
	if (capability->access_type_case == VOLUME_CAPABILITY_ACCESS_TYPE_BLOCK)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "block volumes are not supported; ask for a mount (in Nomad: "
			    "attachment_mode = \"file-system\")");
	if (capability->access_type_case != VOLUME_CAPABILITY_ACCESS_TYPE_MOUNT)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume_capability has no access type; ask for a mount");

	const VolumeCapability_MountVolume *mount = capability->mount;
	if (*mount->fs_type && strcmp(mount->fs_type, "zfs"))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "fs_type '%s' is not supported; leave it empty or use 'zfs'",
			    mount->fs_type);
	int mode = capability->access_mode->mode;
	*ret = (struct mount_request){.one_target = has_one_target(mode),
				      .group = mount->volume_mount_group};
	if (mount_attrs_parse(mount->mount_flags, mount->n_mount_flags, &ret->attrs, err))
		return -1;
	if (access_mode_readonly(mode))
		ret->attrs |= MOUNT_ATTR_RDONLY;
	return 0;
}
