/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_EXPORT_EXPORTS_H
#define ZCSI_NODE_EXPORT_EXPORTS_H

/*
 * NFS exports of the pool's host: each volume to the clients in its zcsi:published. An exported
 * volume is mounted at its share's path (node/record/share.h). Any thread.
 */

#include "node/host/node.h"

/* Returns the value of property mountpoint for a new volume; static or in the arena. */
const char *exports_mountpoint(struct arena *arena, const char *dataset);
/*
 * Check that the pool's host can export volumes. Returns 0, or -1 with ERR_FAILED_PRECONDITION,
 * whose text says what to do. May block.
 */
int exports_check(const struct node *node, struct error *err);
/*
 * Call exports_check and keep its error for exports_refusal, unless another thread does. May block.
 */
void exports_look(const struct node *node);
/*
 * Returns the text with which exports_check failed in the last exports_look, in the arena; "" if it
 * did not fail. Never blocks.
 */
char *exports_refusal(struct arena *arena);
/*
 * Export a volume to exactly the clients in its record, dataset->published, or withdraw its export.
 * dataset: as the catalog has it. One change of the exports runs at a time: returns 0, or -1 with
 * *err, which is ERR_ABORTED if an earlier change still runs at the deadline.
 */
int exports_apply(struct arena *arena, const struct node *node, const struct dataset *dataset,
		  int64_t deadline, struct error *err);
/*
 * Call exports_look, export all volumes as their records say, and withdraw exports below the
 * parent that belong to no volume any more. Errors are logged, and tried again after the next scan
 * of the pool.
 */
void exports_heal(struct node *node);

#endif
