/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_ZFS_METRICS_H
#define ZCSI_NODE_ZFS_ZFS_METRICS_H

/* How many zfs(8) and zpool(8) processes ran, how they ended, and how long they took. */

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

/*
 * Count one process that ran argv. code: how exec_run failed, or ERR_OK with the exit status; us:
 * its duration in microseconds. Any thread.
 */
void zfs_metrics_count(const char *const *argv, enum error_code code, int status, int64_t us);
/* Write all of it in Prometheus' text format. */
void zfs_metrics_write(FILE *out);

#endif
