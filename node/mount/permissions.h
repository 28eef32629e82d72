/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOUNT_PERMISSIONS_H
#define ZCSI_NODE_MOUNT_PERMISSIONS_H

/*
 * Who may use a volume's root directory: what its creator asked for (the property zcsi:root) and
 * what its user asks for (CSI's volume_mount_group). Nothing below that directory is touched.
 */

#include <sys/types.h>

#include "common/error.h"

/* (uid_t)-1, (gid_t)-1 and (mode_t)-1: not asked for. */
struct permissions {
	uid_t owner;
	gid_t group;
	mode_t mode;
	gid_t mount_group;
	uid_t maker; /* whom ZFS gave it to, if not to root: who ran zfs create */
};

/*
 * root: "<uid>:<gid>:<octal mode>", each part may be empty, or ""; damage is
 * ERR_FAILED_PRECONDITION. mount_group: a number, a group of this host, or ""; anything else is
 * ERR_INVALID_ARGUMENT. The maker is the caller's to say.
 */
int permissions_parse(const char *root, const char *mount_group, struct permissions *ret,
		      struct error *err);

/* The group of a volume_mount_group as above; (gid_t)-1 for "". */
int permissions_group(const char *mount_group, gid_t *ret, struct error *err);

/*
 * Apply them to the root directory of the mount at a path, read-only or not. The creator's wish
 * counts while the directory is as ZFS made it; the group becomes that of the directory, may do
 * everything in it, and is inherited.
 */
int permissions_apply(const char *path, const struct permissions *want, struct error *err);

#endif
