/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOUNT_MOUNT_H
#define ZCSI_NODE_MOUNT_MOUNT_H

/*
 * Changing mounts. Each function looks up its change in mountinfo before it returns 0; on failure
 * it returns -1 with *err, which is ERR_UNAVAILABLE if the mount's server or pool did not answer.
 * Each of its system calls may block for MOUNT_CALL_MS. Any thread.
 *
 * path: an existing directory, or a file for a device. attrs: MOUNT_ATTR_ bits, replacing all.
 */

#include "node/mount/mountinfo.h"

enum mount_role { MOUNT_STAGING, MOUNT_TARGET };

/*
 * Mount the tree of the mount `from` at `path` too. The role and the attributes are set before the
 * mount becomes visible, so it is never writable or without a role for a moment.
 */
int mount_bind(const struct mount *from, const char *path, enum mount_role role, uint64_t attrs,
	       struct error *err);
/*
 * Create a mount of `source` that is attached nowhere; option: "mode=0700" or the like, or NULL.
 * Returns its descriptor, for mount_place; closing it removes the mount.
 */
int mount_create(const char *type, const char *source, const char *option, struct error *err);
/* Attach the mount of this descriptor, like mount_bind. source: its source in mountinfo. */
int mount_place(int mount, const char *source, const char *path, enum mount_role role,
		uint64_t attrs, struct error *err);
/*
 * Turn the mount at the path, whose source is `source`, into a staging with these attributes, also
 * where the mount has propagated to. Fails like mount_remove if it is in use.
 */
int mount_make_staging(const char *path, const char *source, uint64_t attrs, struct error *err);
/* Unmount the top mount at the path. ERR_FAILED_PRECONDITION names the processes that use it. */
int mount_remove(const char *path, struct error *err);
/*
 * Unmount the filesystems below the dataset that are mounted below the path, and then the top mount
 * at the path, which is of the dataset. zfs-fuse mounts each child of a dataset when the child is
 * created.
 */
int mount_remove_tree(const char *path, const char *dataset, struct error *err);

#endif
