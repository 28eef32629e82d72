/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_SPACE_LOW_SPACE_H
#define ZCSI_NODE_SPACE_LOW_SPACE_H

/* Emptying the trash early, when less than --trash-free of the pool is free. */

#include <stdio.h>

#include "node/catalog/catalog.h"
#include "node/host/node.h"

/*
 * Destroy deleted volumes whose time in the trash is not over, the oldest first, until enough of
 * the pool is free. Called by the catalog's thread, after reaper_run. Errors are logged.
 */
void low_space_run(struct catalog *catalog, const struct node *node);

/* Write the metrics of volumes that were destroyed early. Any thread. */
void low_space_metrics_write(FILE *out);

#endif
