/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOUNT_DRAIN_H
#define ZCSI_NODE_MOUNT_DRAIN_H

/*
 * Waiting for zfs-fuse before its file system is unmounted. With the last mount the kernel drops
 * the requests that it has queued for the FUSE server, even the closing of files by a process that
 * was just killed. zfs-fuse would wait for these for ever: the dataset would stay busy, and no file
 * system of the host would answer any more.
 */

/*
 * If the mount at the path is the last one of a file system of zfs-fuse, wait until the server has
 * answered all requests. Returns 0, or -1 with ETIMEDOUT after MOUNT_CALL_MS. Any thread.
 */
int fuse_drain(const char *path);

#endif
