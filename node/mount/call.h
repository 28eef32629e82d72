/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOUNT_CALL_H
#define ZCSI_NODE_MOUNT_CALL_H

/*
 * System calls on mounts whose server or pool may be dead, as -1 with errno in bounded time:
 * ETIMEDOUT when there was no answer within MOUNT_CALL_MS.
 */

#include <stdint.h>
#include <sys/statvfs.h>

#include "node/mount/mountinfo.h"

#define MOUNT_CALL_MS 10000

/* The mount at a path as a descriptor: itself, or with OPEN_TREE_CLONE a copy attached nowhere. */
int mount_call_open(const char *path, unsigned flags);
/* umount2(2). After ETIMEDOUT the mount may be gone and its server still be waited for. */
int mount_call_unmount(const char *path, int flags);

#define MOUNT_CALL_STATVFS "statvfs" /* the name of its thread, as in `ps -L` */

/*
 * statvfs(3) of a mount. Returns 0 with *ret filled, or an errno: ETIMEDOUT when there was no answer
 * by the deadline. Any thread.
 */
int mount_call_statvfs(const struct mount *mount, int64_t deadline, struct statvfs *ret);

#endif
