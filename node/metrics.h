/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_METRICS_H
#define ZCSI_NODE_METRICS_H

/* The metrics of zcsi-node in addition to the transport's (transport/monitor.h). */

#include <stdio.h>

#include "common/error.h"

/* Write the metrics of a struct node. transport/monitor.h calls it. */
void node_metrics(void *node, FILE *out);
/* Returns 0 if the pool of a struct node is ready, or it has none; else -1 with ERR_UNAVAILABLE. */
int node_ready(void *node, struct error *err);

#endif
