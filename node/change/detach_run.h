/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CHANGE_DETACH_RUN_H
#define ZCSI_NODE_CHANGE_DETACH_RUN_H

/* Detaching one volume, a clone, from its origin; detach_end.h has the steps. */

#include "node/host/node.h"
#include "node/stream/rounds.h"

struct detach {
	struct rpc_call *call;
	struct rounds *rounds;  /* the detach is interrupted when this thread is to stop */
	struct dataset *volume; /* the volume, as ZFS has just shown it */
	const char *copy;       /* name of the copy */
	const char *former;     /* name of the former volume */
	bool copied;            /* the copy exists, with at least one snapshot */
	bool exchanged;         /* step 4 of detach_end.h was taken */
	bool missing;           /* the volume may have no dataset until zcsi-node starts again */
};

/*
 * Detach the volume with this id, on the thread of the rounds. Blocks for hours. Memory is in the
 * arena of the call. Returns 0, or -1 with *err.
 */
int detach_run(struct detach *detach, const char *id, struct error *err);

#endif
