/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_EXPORT_EXPORTS_H
#define ZCSI_NODE_EXPORT_EXPORTS_H

/*
 * NFS exports of the pool's host: each volume to the clients in its zcsi:published. An exported
 * volume is mounted at its share's path (node/record/share.h). Any thread.
 */

#include "node/host/node.h"

/* Returns the property mountpoint of a new volume; in the arena. */
const char *exports_mountpoint(struct arena *arena, const char *dataset);
/* ERR_FAILED_PRECONDITION: this host cannot export, and what to do about it. */
int exports_check(const struct node *node, struct error *err);
/*
 * Export one volume to the clients in its record, and to no others. *dataset is the volume as the
 * catalog has it. One change of the exports runs at a time; returns -1 with ERR_ABORTED if an
 * earlier one still runs at the deadline.
 */
int exports_apply(struct arena *arena, const struct node *node, const struct dataset *dataset,
		  int64_t deadline, struct error *err);
/*
 * Do the same for all volumes, and withdraw the exports of datasets that are no volumes any more.
 * Failures are logged.
 */
void exports_heal(struct node *node);

#endif
