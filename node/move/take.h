/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOVE_TAKE_H
#define ZCSI_NODE_MOVE_TAKE_H

/*
 * Making a copy on this host the volume. The caller has checked that it may become that. Functions
 * run programs, and return 0, or -1 with *err. For calls that are keyed by the volume.
 */

#include "node/move/place.h"
#include "proto/copy.h"
#include "transport/rpc.h"

struct take {
	const char *id;
	int64_t epoch;            /* the new owner's */
	CopyPoint *const *copies; /* snapshots after which the copies on other nodes continue */
	size_t n_copies;
	const char *owner;    /* the new zcsi:owner; NULL: that of a moved volume */
	const char *lost;     /* the new zcsi:failover, for people; NULL: it is not changed */
	const char *accepted; /* the new zcsi:accepted; NULL: it is not changed */
};

/*
 * Read the place of a volume, after the moves of an earlier zcsi-node are known and no zfs that it
 * started runs any more. The volume need not be in the catalog.
 */
int take_read(struct rpc_call *call, const char *id, struct place *ret, struct error *err);
/* Check that nothing has the copy mounted or open. */
int take_check_unused(struct arena *arena, const struct place *place, struct error *err);
/* Rename a volume or a copy, whose encryption key is neither loaded nor unloaded meanwhile. */
int take_rename(struct rpc_call *call, const struct place *place, const char *name,
		struct error *err);
/* Make the copy the volume. May be repeated after an error. */
int take_over(struct rpc_call *call, const struct take *take, const struct place *place,
	      struct error *err);
/* Give a volume its device, unless it has one, and report it to the catalog. */
int take_finish(struct rpc_call *call, const char *name, bool hidden, struct error *err);

#endif
