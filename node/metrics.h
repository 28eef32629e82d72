/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_METRICS_H
#define ZCSI_NODE_METRICS_H

/* The metrics of zcsi-node in addition to the transport's (transport/monitor.h). */

#include <stdio.h>

#include "common/error.h"

/* Write the metrics, for the monitor. node: the struct node. */
void node_metrics(void *node, FILE *out);
/* Returns 0 if the pool is ready or there is none, or -1 with ERR_UNAVAILABLE. For the monitor. */
int node_ready(void *node, struct error *err);

#endif
