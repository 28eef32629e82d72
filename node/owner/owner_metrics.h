/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_OWNER_METRICS_H
#define ZCSI_NODE_OWNER_OWNER_METRICS_H

#include <stdio.h>

#include "node/host/node.h"

/* Write the metrics of the owners of this host's volumes with copies. */
void owner_metrics_write(const struct node *node, FILE *out);

#endif
