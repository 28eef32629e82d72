/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_ZFS_RUN_H
#define ZCSI_NODE_ZFS_ZFS_RUN_H

/* Running zfs(8) and zpool(8), for node/zfs/zfs.c and node/zfs/zfs_read.c. Blocks. */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/exec.h"

/*
 * Longest outputs, for exec.max_output; other programs may print EXEC_OUTPUT_MAX.
 *
 * A listing: 1,100,000 names of 60 bytes, as of 100,000 datasets and 1,000,000 snapshots, in two
 * lines each, or in one with four values, are 220 MB. A `zfs get` of all properties that zcsi reads
 * prints 1.5 KB for each name (110,000 names: 160 MB), so the limit fits a volume with 170,000
 * snapshots.
 */
#define ZFS_LIST_OUTPUT_MAX ((size_t)256 << 20)
/* A `zfs get` of the whole pool: 700,000 datasets and snapshots. A larger pool cannot be read. */
#define ZFS_POOL_OUTPUT_MAX ((size_t)1 << 30)

/* Fail with the code and the advice for the error output of zfs. Always returns -1. */
int zfs_fail(const char *output, struct error *err);

/*
 * Set the timeout of each program. A program that exceeds it fails its call and is hung
 * (node/zfs/hung.h). Call before the first program runs.
 */
void zfs_run_set_timeout(int64_t ms);
/* Returns the timeout of each program in ms. */
int64_t zfs_run_timeout(void);
/* Returns the timeout of a program that reads many snapshots, for exec.timeout_ms. */
int64_t zfs_run_list_timeout(void);

/* Make zfs_run_stop_reading possible. Call once, before the first program runs. */
int zfs_run_stoppable(struct error *err);
/*
 * Kill each program that only reads (is_reading in zfs_run.c), and start none from now on: their
 * calls fail with ERR_UNAVAILABLE. Nothing is lost; programs that change the pool run on. For the
 * end of zcsi-node, which must not wait for a pool that cannot be read. Any thread.
 */
void zfs_run_stop_reading(void);

/*
 * Run a program. *ret_out is its output, also after a failure; the caller frees it. ret_out may be
 * NULL. Returns 0, or -1 with *err.
 */
int zfs_run_once(const struct exec *exec, char **ret_out, struct error *err);

/*
 * Run a program, and repeat it for two and a half seconds while zfs-fuse prints "dataset is busy",
 * as it may right after an unmount or a destroy, without any user of the dataset.
 */
int zfs_run(const char *const *argv, struct error *err);
/* Run a program like zfs_run; input: its stdin, or NULL. */
int zfs_run_with(const char *const *argv, const char *input, struct error *err);

/* Returns true if the kernel of the pool's host has ZFS; otherwise the host uses zfs-fuse. */
bool zfs_is_the_kernels(void);

#endif
