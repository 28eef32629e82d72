/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_METRICS_H
#define ZCSI_NODE_METRICS_H

/* What zcsi-node counts and tells beside the transport's (transport/monitor.h). */

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

/* What became of running a zfs(8) or zpool(8): how exec_run failed, or the status. Any thread. */
void metrics_zfs(const char *const *argv, enum error_code code, int status, int64_t us);

/* For the monitor; the argument is the struct node. */
void node_metrics(void *node, FILE *out);
int node_ready(void *node, struct error *err);

#endif
