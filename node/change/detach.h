/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CHANGE_DETACH_H
#define ZCSI_NODE_CHANGE_DETACH_H

/*
 * Checks and copying for detaching a volume, a clone, from its origin; detach_end.h has the steps.
 * Functions run zfs(8) and return 0, or -1 with *err. Memory is in the arena of the call.
 */

#include "node/change/detach_end.h"
#include "node/host/node.h"

struct detach; /* detach_run.h */

struct detach_room {
	int64_t size;      /* bytes to be copied */
	int64_t available; /* free bytes in the pool, as ZFS has just shown them */
};

/*
 * Check that a volume, which is a clone, can be detached now: nothing uses it, no other dataset,
 * node or program depends on its snapshots or bookmarks, and the pool has room for the copy.
 * children: how many datasets agent_prove has counted. *ret_room is set even if the check fails.
 */
int detach_check(struct rpc_call *call, const struct dataset *volume, size_t children,
		 struct detach_room *ret_room, struct error *err);
/* Check only that nothing uses the volume. */
int detach_check_unused(struct rpc_call *call, const struct dataset *volume, size_t children,
			struct error *err);
/*
 * Check only that no other dataset, node or program depends on the snapshots and bookmarks of the
 * volume. *ret is the bytes of all its data.
 */
int detach_check_history(struct rpc_call *call, const struct dataset *volume, int64_t *ret,
			 struct error *err);
/*
 * *ret_origin is the snapshot that the dataset depends on, *ret_mark the value of its
 * DETACH_PROPERTY; "": none.
 */
int detach_read(struct arena *arena, const char *name, char **ret_origin, char **ret_mark,
		struct error *err);

/* Copy all snapshots that the copy does not have. */
int detach_copy(struct detach *detach, struct error *err);
/* *ret is true if the copy has all snapshots of the volume. */
int detach_copy_has_all(const struct detach *detach, bool *ret, struct error *err);

#endif
