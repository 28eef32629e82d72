/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_AGENT_TRASH_H
#define ZCSI_NODE_AGENT_TRASH_H

/* Deleting volumes, and the trash: volumes that stay in _trash while snapshots depend on them. */

#include "node/agent/agent.h"

#define TRASH_KEEP_S (30 * 86400) /* seconds for which trash_keep keeps a volume, at least */

/*
 * Set the refreservation of a volume in the trash to none: nothing is written to it there, and
 * other volumes need the space. name: its ZFS name. Returns false after an error, which is logged.
 */
bool trash_release_reservation(const char *name);
/*
 * Destroy a volume, or move it to the trash if snapshots depend on it or --trash-ttl is set.
 * Returns 0, also if it does not exist, or -1 with *err.
 */
int trash_destroy(struct rpc_call *call, const char *id, struct error *err);
/*
 * Move a volume to the trash and keep it there for TRASH_KEEP_S, whatever --trash-ttl is. The
 * caller has read it from ZFS, has found it unused, and has its origin key. Returns 0, or -1 with
 * *err.
 */
int trash_keep(struct rpc_call *call, struct dataset *dataset, struct error *err);

#endif
