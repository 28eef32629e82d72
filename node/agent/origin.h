/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_AGENT_ORIGIN_H
#define ZCSI_NODE_AGENT_ORIGIN_H

/* Keys that keep the origin of a clone in its place while the clone is made. */

#include "node/agent/agent.h"

/*
 * The catalog's claim on what a dataset and its snapshots are the origin of: nothing is cloned of
 * it, and neither it nor a snapshot of it is destroyed or moved, while somebody else has the claim.
 * zfs_name may be that of a snapshot.
 */
char *origin_key(struct arena *arena, const char *zfs_name);
/* Find a snapshot by its id, and claim it; NOT_FOUND leaves nothing claimed. */
int origin_lock_key(struct rpc_call *call, const char *id, struct snapshot **ret, char **ret_key,
		    struct error *err);

#endif
