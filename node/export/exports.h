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
/* Make it so for one volume, of which *dataset is what the catalog has. */
int exports_apply(struct arena *arena, const struct node *node, const struct dataset *dataset,
		  struct error *err);
/* The same for all, and for those that are exported and are no volumes of ours any more. */
void exports_heal(struct node *node);

#endif
