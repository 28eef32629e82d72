/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_ZFS_METRICS_H
#define ZCSI_NODE_ZFS_ZFS_METRICS_H

/* Metrics of zfs(8) and zpool(8) processes: their number, outcome and duration. Any thread. */

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

/* A process that runs argv is about to start. Its timeouts are written from now on, first as 0. */
void zfs_metrics_begin(const char *const *argv);
/*
 * Count a process that ran argv. code: the error of exec_run, or ERR_OK; status: its exit status;
 * us: its duration in microseconds.
 */
void zfs_metrics_count(const char *const *argv, enum error_code code, int status, int64_t us);
/* Write the metrics in Prometheus' text format. */
void zfs_metrics_write(FILE *out);

#endif
