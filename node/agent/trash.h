/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_AGENT_TRASH_H
#define ZCSI_NODE_AGENT_TRASH_H

/* Deleting volumes, and the trash: volumes that stay in _trash while snapshots depend on them. */

#include "node/agent/agent.h"

/*
 * Destroy trashed volumes that nothing depends on any more, and origins that no clone uses. Called
 * by the catalog's thread after each scan of the pool; arg: the struct node. Errors are logged.
 */
void trash_reap(struct catalog *catalog, void *arg);
/*
 * Destroy a volume, or move it to the trash if snapshots depend on it or --trash-ttl is set.
 * Returns 0, also if it does not exist, or -1 with *err.
 */
int trash_destroy(struct rpc_call *call, const char *id, struct error *err);

#endif
