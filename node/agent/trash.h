/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_AGENT_TRASH_H
#define ZCSI_NODE_AGENT_TRASH_H

/* Volumes that are deleted, and those that wait in _trash until nothing depends on them. */

#include "node/agent/agent.h"

/*
 * Destroy trashed volumes that nothing depends on any more, and left-over origins. The catalog's
 * thread calls it after each reading; arg is the struct node.
 */
void trash_reap(struct catalog *catalog, void *arg);
/* Destroy a volume, or move it to the trash, as DestroyDataset does. OK when it does not exist. */
int trash_destroy(struct rpc_call *call, const char *id, struct error *err);

#endif
