/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOUNT_MOUNT_H
#define ZCSI_NODE_MOUNT_MOUNT_H

/* The few ways in which we change mounts. Every change is looked up in mountinfo afterwards. */

#include "node/mount/mountinfo.h"

enum mount_role { MOUNT_STAGING, MOUNT_TARGET };

/*
 * Mount the same at `path` too, with its role and exactly these attributes, all in one
 * step: there is no instant at which it is there but writable, or there but of no role.
 */
int mount_attach(const struct mount *from, const char *path, enum mount_role role, uint64_t attrs,
		 struct error *err);
/*
 * A mount of a file system that is attached nowhere: a descriptor. option: "mode=0700", or NULL.
 * It goes when that is closed, or gets its place, role and attributes by mount_place.
 */
int mount_create(const char *type, const char *source, const char *option, struct error *err);
/* As mount_attach, with a mount that is attached nowhere yet, whose source is known. */
int mount_place(int mount, const char *source, const char *path, enum mount_role role,
		uint64_t attrs, struct error *err);
/* Make the source's mount at a path a staging with exactly these attributes. */
int mount_make_staging(const char *path, const char *source, uint64_t attrs, struct error *err);
/* Unmount what is on top. ERR_FAILED_PRECONDITION names the processes that use it. */
int mount_remove(const char *path, struct error *err);

/* "bash (pid 12), mariadbd (pid 40)": who has files below the path open; "" when unknown. */
char *mount_users(struct arena *arena, const char *path);

#endif
