/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_OWNER_METRICS_H
#define ZCSI_NODE_OWNER_OWNER_METRICS_H

#include <stdio.h>

#include "node/host/node.h"

/* Write whose the volumes with copies of this host are. */
void owner_metrics_write(const struct node *node, FILE *out);

#endif
