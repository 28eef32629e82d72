/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_SCHEDULE_KEEPER_H
#define ZCSI_NODE_SCHEDULE_KEEPER_H

/*
 * The keeper takes the scheduled snapshots of this host's volumes, and destroys those that the
 * schedules do not keep any more. It has a thread of its own.
 */

#include <stdio.h>

#include "common/error.h"
#include "node/host/node.h"
#include "proto/agent.h"
#include "transport/loop.h"

struct keeper;

/*
 * Start the thread. The node, with a catalog, and the loop outlive the keeper. Returns 0, or -1
 * with *err; call keeper_stop then too.
 */
int keeper_start(struct keeper **ret, const struct node *node, struct loop *loop,
		 struct error *err);
/* Stop the thread, run the loop until it has ended, and free the keeper, which may be NULL. */
void keeper_stop(struct keeper *keeper);
/*
 * Make the thread look at all schedules soon, because one has changed; returns at once. keeper may
 * be NULL.
 */
void keeper_look(struct keeper *keeper);

/*
 * Returns why the schedule of a volume does not run, in the arena; NULL if it runs, or there is
 * none. keeper may be NULL. Any thread.
 */
Trouble *keeper_trouble(struct keeper *keeper, struct arena *arena, const struct dataset *volume);

/*
 * Destroy the scheduled snapshots of a deleted volume, which would keep it in the trash. Runs a
 * program for each; failures are logged. The caller has locked the catalog key "origin" of the
 * volume.
 */
void keeper_end(struct catalog *catalog, const struct dataset *deleted);

/* Write the metrics of scheduled snapshots. Any thread. */
void keeper_metrics_write(FILE *out);

#endif
