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
 * Check that no clone of a volume is mounted, which zfs-fuse would unmount at a rename of the
 * volume. *ret_turn is a descriptor that keeps the clones from being mounted until it is closed.
 * Returns 0, or -1 with *err.
 */
int trash_lock(struct rpc_call *call, const struct dataset *dataset, int *ret_turn,
	       struct error *err);
/*
 * Rename a volume into the trash or out of it, or to the dataset name of its new id; the caller has
 * called trash_lock. name: its new ZFS name. Returns 0, or -1 with *err if ZFS does not have the
 * dataset under that name.
 */
int trash_rename(struct rpc_call *call, const struct dataset *dataset, const char *name,
		 struct error *err);
/*
 * Have the trash emptied early if a call failed with *err for lack of space. Returns true if the
 * trash has fewer volumes then: try the call again, once. The caller has no origin key locked.
 */
bool trash_made_room(struct rpc_call *call, const struct error *err);
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
