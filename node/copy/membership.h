/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_MEMBERSHIP_H
#define ZCSI_NODE_COPY_MEMBERSHIP_H

#include "node/copy/push.h"
#include "proto/agent.h"

/* The values that properties of a volume get, in the arena; NULL: it stays as it is. */
struct membership_change {
	char *members; /* zcsi:members */
	char *push;    /* zcsi:push */
};

/*
 * *ret is what a request changes. Nothing is set. Returns 0, or -1 with *err: no copy is dropped, a
 * further node cannot have one, or does not answer. Runs programs, and waits for the other nodes.
 * The call has the key of the volume. Any worker thread.
 */
int membership_modify(struct rpc_call *call, struct dataset *volume,
		      const ModifyDatasetRequest *req, struct membership_change *ret,
		      struct error *err);

/*
 * Destroy the copy of push->to and forget the node: its bookmark, its place in zcsi:members, and,
 * with the last copy, our own snapshots. Returns 0, or -1 with *err, and then all of it may be done
 * again. Runs programs, and waits for the other node. Any thread but the loop's.
 */
int membership_end(struct push *push, struct error *err);

#endif
