/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_METRICS_H
#define ZCSI_NODE_METRICS_H

/* Metrics of zcsi-node beside the transport's (transport/monitor.h). */

#include <stdio.h>

#include "common/error.h"

/* For the monitor; the argument is the struct node. */
void node_metrics(void *node, FILE *out);
int node_ready(void *node, struct error *err);

#endif
