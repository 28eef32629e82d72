/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_ZFS_RUN_H
#define ZCSI_NODE_ZFS_ZFS_RUN_H

/* Running zfs(8) and zpool(8), for node/zfs/zfs.c and node/zfs/zfs_read.c. Blocks. */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/exec.h"

/* The code and the advice for what zfs said. Always -1. */
int zfs_fail(const char *said, struct error *err);

/* How long one may take: then its call fails, and it is unfinished. Before the first. */
void zfs_run_timeout(int64_t ms);

/* *ret_out, the caller's to free, is what it printed, also when it failed; ret_out may be NULL. */
int zfs_run_once(const struct exec *exec, char **ret_out, struct error *err);

/*
 * Right after an unmount or a destroy zfs-fuse may say "dataset is busy" once more although
 * nobody uses it: such a run is repeated for two and a half seconds.
 */
int zfs_run(const char *const *argv, struct error *err);
/* The same; input is what it reads, or NULL. */
int zfs_run_with(const char *const *argv, const char *input, struct error *err);

/* The kernel's; else zfs-fuse's. */
bool zfs_is_the_kernels(void);

#endif
