/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CHANGE_DETACH_H
#define ZCSI_NODE_CHANGE_DETACH_H

/*
 * Detaching a volume, a clone, from its origin; detach_end.h has the steps. Functions run zfs(8)
 * and return 0, or -1 with *err. Memory is in the arena of the call.
 */

#include "node/change/detach_end.h"
#include "node/host/node.h"
#include "node/stream/rounds.h"

struct detach {
	struct rpc_call *call;
	struct rounds *rounds;  /* whose end interrupts it */
	struct dataset *volume; /* as ZFS has just shown it */
	const char *copy;       /* step 2 */
	const char *former;     /* step 4 */
	bool copied;            /* the copy exists, with at least one snapshot */
	bool exchanged;         /* step 4 was taken */
	bool missing;           /* the volume may have no dataset: the next zcsi-node ends it */
};

struct detach_room {
	int64_t size;      /* the bytes that are copied */
	int64_t available; /* in the pool, as ZFS has just shown it */
};

/* Set the names that follow from the volume. */
void detach_name(struct detach *detach);
/*
 * Check that a volume, which is a clone, can be detached now: nothing uses it, and nothing is lost
 * by it. children: how many datasets agent_prove has counted. ret_room is set first.
 */
int detach_check(struct rpc_call *call, const struct dataset *volume, size_t children,
		 struct detach_room *ret_room, struct error *err);
/* Check only that nothing uses the volume. */
int detach_check_unused(struct rpc_call *call, const struct dataset *volume, size_t children,
			struct error *err);
/* Check only its snapshots and bookmarks: others may depend on them. *ret is the bytes of all. */
int detach_check_history(struct rpc_call *call, const struct dataset *volume, int64_t *ret,
			 struct error *err);
/* *ret_origin is the snapshot that the dataset depends on, or ""; *ret_mark DETACH_PROPERTY. */
int detach_read(struct arena *arena, const char *name, char **ret_origin, char **ret_mark,
		struct error *err);

/* Detach the volume with this id, on the thread of the rounds. Blocks for hours. */
int detach_run(struct detach *detach, const char *id, struct error *err);
/* Copy all snapshots that the copy does not have. */
int detach_copy(struct detach *detach, struct error *err);
/* *ret is true if the copy has all snapshots of the volume. */
int detach_copy_has_all(const struct detach *detach, bool *ret, struct error *err);

#endif
