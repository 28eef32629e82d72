/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_MEMBERSHIP_H
#define ZCSI_NODE_COPY_MEMBERSHIP_H

#include "node/copy/push.h"
#include "proto/agent.h"

/* The new values of properties of a volume, in the arena; NULL: the property does not change. */
struct membership_change {
	char *members; /* zcsi:members */
	char *push;    /* zcsi:push */
};

/*
 * Check that volumes here can have copies elsewhere. Returns 0, or -1 with ERR_FAILED_PRECONDITION.
 */
int membership_able(const struct node *node, struct error *err);

/*
 * *ret is a push of the volume, whose node the caller sets, in the arena of the call. Returns 0, or
 * -1 with ERR_FAILED_PRECONDITION if zcsi:members is damaged.
 */
int membership_push(struct rpc_call *call, struct dataset *volume, struct push *ret,
		    struct error *err);
/*
 * Add push->to to push->members. Fails unless that node answers that it can have a copy. every: how
 * far copies may be behind, in seconds; 0: no change. Waits for the other node.
 */
int membership_admit(struct push *push, int64_t every, struct error *err);
/*
 * Set zcsi:push to push->rules, and zcsi:members unless `members` is NULL. Returns 0, or -1 with
 * *err. Runs programs. The caller is a call for the volume, or has called push_lock.
 */
int membership_record(const struct push *push, const struct members *members, struct error *err);
/*
 * *ret is the property changes that a request needs; the caller sets them. Returns 0, or -1 with
 * *err, also if the request would drop a copy, or if a further node cannot have one or does not
 * answer. Runs programs, and waits for the other nodes. The call is keyed by the volume. Any worker
 * thread.
 */
int membership_modify(struct rpc_call *call, struct dataset *volume,
		      const ModifyDatasetRequest *req, struct membership_change *ret,
		      struct error *err);

/*
 * Add the node to the members of the volume, if the volume follows its workload anywhere and the
 * node is none of them. Returns 0, or -1 with *err, also if the node cannot have a copy. Runs
 * programs, and waits for the other node. The call is keyed by the volume. Any worker thread.
 */
int membership_extend(struct rpc_call *call, struct dataset *volume, const char *to,
		      struct error *err);

/*
 * Drop the copy of push->to, if that node is owed, or the volume is on more nodes than it is to be
 * and this copy is to go (members_extra). Returns 0, also if the copy stays, or -1 with *err. Takes
 * a place in the queue of the calls for the volume. Call it on a thread of the pusher.
 */
int membership_trim(struct push *push, struct error *err);

/*
 * Destroy the copy of push->to and forget the node: its bookmark, its place in zcsi:members, and,
 * with the last copy, the snapshots for copies. gone: also if the node cannot be reached. Returns
 * 0, or -1 with *err; the call may be repeated. Runs programs, and waits for the other node. Any
 * thread but the loop's.
 */
int membership_end(struct push *push, bool gone, struct error *err);

#endif
