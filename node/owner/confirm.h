/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_CONFIRM_H
#define ZCSI_NODE_OWNER_CONFIRM_H

#include "node/host/node.h"
#include "node/record/ownership.h"

/*
 * Record who owns a volume of this host, in ZFS and in the catalog; the volume gets the new text.
 * newer: another node took it over, so it is published to no node any more. Runs programs. Returns
 * 0, or -1 with *err. For a call that is keyed by the volume.
 */
int confirm_record(const struct node *node, struct arena *arena, struct dataset *volume,
		   const struct ownership *ownership, struct error *err);
/* Record that this host is the owner. */
int confirm_owner(const struct node *node, struct arena *arena, struct dataset *volume,
		  struct error *err);

#endif
