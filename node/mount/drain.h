/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOUNT_DRAIN_H
#define ZCSI_NODE_MOUNT_DRAIN_H

/*
 * What the kernel has not yet handed to a FUSE server is dropped when the file system's last mount
 * goes: the closing of files by a workload that was just killed, too. zfs-fuse waits for that for
 * ever then; the dataset is busy, and no file system of the host answers any more.
 */

/*
 * Before an unmount: waits until the server has answered all that it was asked, when the mount at
 * the path is the last of a file system of zfs-fuse. -1 and ETIMEDOUT after MOUNT_CALL_MS.
 */
int fuse_drain(const char *path);

#endif
