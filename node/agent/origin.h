/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_AGENT_ORIGIN_H
#define ZCSI_NODE_AGENT_ORIGIN_H

/* Keys that keep the origin of a clone in its place while the clone is made. */

#include "node/agent/agent.h"

/*
 * Returns the key under which an origin is locked: while it is held nothing is cloned of the
 * dataset, and neither it nor a snapshot of it is destroyed or renamed by another call. zfs_name
 * may be that of a snapshot.
 */
char *origin_key(struct arena *arena, const char *zfs_name);
/* Find a snapshot by its id, and claim it; NOT_FOUND leaves nothing claimed. */
int origin_lock_key(struct rpc_call *call, const char *id, struct snapshot **ret, char **ret_key,
		    struct error *err);

#endif
