/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_FOLLOW_H
#define ZCSI_CONTROLLER_FOLLOW_H

/*
 * A volume follows its workload: before it is published at another node than its own, it moves
 * there, if that node has a copy or the volume follows anywhere. The agent that has it carries the
 * move out, after the call has ended too. Functions block for FOLLOW_MS at most in all, in handlers
 * on workers.
 */

#include <stdbool.h>

#include "controller/hosts.h"

#define FOLLOW_MS 2000

/* A volume that is to be published at a node. */
struct follow {
	struct rpc_call *call;
	const char *id, *node_id;
	int64_t until; /* deadline (now_ms()), which the first function sets; 0 before */
};

/* Returns true if the volume is on another node, and is to move to this one. */
bool follow_wants(const struct follow *follow, const struct owner *owner);
/*
 * Begin to move the volume from its owner to the node, unless it is moving there already, and wait
 * for it. Returns 0 if it may be there now, so look it up again; or -1 with *err, which is
 * ERR_FAILED_PRECONDITION if the caller of the RPC should repeat it: the volume is moving, is in
 * use, or cannot move yet.
 */
int follow_move(struct follow *follow, const struct owner *owner, struct error *err);
/*
 * Judge *err, with which the lookup of the volume failed: while a move ends, no node has it.
 * Returns 0 or -1 as follow_move does, or -1 with the error of the lookup, which is never
 * ERR_FAILED_PRECONDITION then.
 */
int follow_missing(struct follow *follow, struct error *err);
/*
 * Give *err a code with which Nomad does not repeat the call, because an operator has to act first.
 * Returns -1.
 */
int follow_fail_for_good(struct error *err);

#endif
