/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_AGENT_ORIGIN_H
#define ZCSI_NODE_AGENT_ORIGIN_H

/* Locks on the origin of a clone: it is neither destroyed nor renamed during `zfs clone`. */

#include "node/agent/agent.h"

/*
 * Returns the catalog key of an origin, in the arena. While a call has it locked, no other call
 * clones the dataset, or destroys or renames it or a snapshot of it. zfs_name: of the dataset or of
 * one of its snapshots.
 */
char *origin_key(struct arena *arena, const char *zfs_name);
/*
 * Find a snapshot by its id and lock its origin key; the caller unlocks *ret_key with
 * catalog_unlock_key. Returns 0, or -1 with *err, for example ERR_NOT_FOUND, and nothing locked.
 */
int origin_lock_key(struct rpc_call *call, const char *id, struct snapshot **ret, char **ret_key,
		    struct error *err);

#endif
