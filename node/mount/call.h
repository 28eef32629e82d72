/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOUNT_CALL_H
#define ZCSI_NODE_MOUNT_CALL_H

/*
 * System calls on mounts whose server or pool may not answer, each bounded by a timeout. Any
 * thread.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/statvfs.h>

#include "node/mount/mountinfo.h"

#define MOUNT_CALL_MS 10000 /* the timeout of open and unmount */

/*
 * open_tree(2) of the mount at a path; flags: OPEN_TREE_CLONE for a copy that is attached nowhere,
 * or 0. Returns a descriptor, or -1 with errno; ETIMEDOUT after MOUNT_CALL_MS.
 */
int mount_call_open(const char *path, unsigned flags);
/*
 * umount2(2). Returns 0, or -1 with errno. After ETIMEDOUT the mount may be gone already, while
 * the kernel still waits for its server.
 */
int mount_call_unmount(const char *path, int flags);

#define MOUNT_CALL_STATVFS "statvfs" /* the name of the helper thread, as in `ps -L` */

/*
 * statvfs(3) of a mount. Returns 0 with *ret filled, or an errno: ETIMEDOUT if there was no answer
 * by the deadline.
 */
int mount_call_statvfs(const struct mount *mount, int64_t deadline, struct statvfs *ret);
/*
 * Returns true if the mount is of a FUSE server that has ended, such as zfs-fuse: every use of it
 * fails with ENOTCONN, also after the server was started again. Blocks up to MOUNT_CALL_MS.
 */
bool mount_call_is_dead(const struct mount *mount);

#endif
