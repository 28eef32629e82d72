/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOUNT_PERMISSIONS_H
#define ZCSI_NODE_MOUNT_PERMISSIONS_H

/*
 * Owner, group and mode of a volume's root directory: as the volume's creator asked for (property
 * zcsi:root), and as a workload asks for (CSI's volume_mount_group). Files below the root directory
 * are never changed. Functions return 0, or -1 with *err. Any thread.
 */

#include <sys/types.h>

#include "common/error.h"

/* The requested permissions. (uid_t)-1, (gid_t)-1 and (mode_t)-1: not requested. */
struct permissions {
	uid_t owner;
	gid_t group;
	mode_t mode;
	gid_t mount_group; /* the group of volume_mount_group */
	uid_t maker;       /* the user that ran zfs create and owns a new directory */
};

/*
 * Parse both texts; ret->maker becomes 0, and the caller sets it.
 * root: "<uid>:<gid>:<octal mode>", each part may be empty, or "". Otherwise
 * ERR_FAILED_PRECONDITION, because the property is damaged.
 * mount_group: as in permissions_group.
 */
int permissions_parse(const char *root, const char *mount_group, struct permissions *ret,
		      struct error *err);

/*
 * *ret is the id of the group that volume_mount_group names: a number, or the name of a group of
 * this host; (gid_t)-1 for "". Otherwise ERR_INVALID_ARGUMENT.
 */
int permissions_group(const char *mount_group, gid_t *ret, struct error *err);

/*
 * Apply the permissions to the root directory of the mount at the path, even if the mount is
 * read-only. owner, group and mode apply only if the directory is as ZFS created it. mount_group
 * always applies: the directory gets that group, with all rights and setgid. ERR_UNAVAILABLE after
 * MOUNT_CALL_MS.
 */
int permissions_apply(const char *path, const struct permissions *want, struct error *err);

#endif
