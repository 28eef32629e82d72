/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_AGENT_CLAIMS_H
#define ZCSI_NODE_AGENT_CLAIMS_H

/*
 * Who may make a volume, or a snapshot, here. A controller looks for its id at every agent, and
 * each of them promises that it will make none of that id for an earlier claim; then one of them is
 * asked to make it. So of two controllers that place one name in two pools at the same time, at
 * least one is refused, and looks again (agent.proto: claim).
 *
 * Zeroed memory is a process that starts: whatever an earlier one has promised is kept. Any thread,
 * once the lock file is ours.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/rpc.h"

#define CLAIMS_MAX 1024

struct claims {
	pthread_mutex_t lock;
	struct promise {
		uint64_t id; /* its hash: two ids that share one are the more careful */
		uint64_t claim;
	} list[CLAIMS_MAX];
	size_t next;      /* the oldest promise, which the next one replaces */
	uint64_t floor;   /* what is forgotten was no higher; 0 before the first question */
	uint64_t highest; /* ever promised */
};

/* Promise; or false and *ret_promised, when a later claim, or an equal one, was there before. Also
 * false when it cannot be kept. */
bool claims_take(struct claims *claims, const char *id, uint64_t claim, uint64_t *ret_promised);
/* Nobody has taken a later one since, and nothing was forgotten. */
bool claims_hold(struct claims *claims, const char *id, uint64_t claim);

/*
 * What the agent promises a controller that looks for something before it makes it (agent.proto:
 * claim), by the key of what it looks for: a volume's id, what agent_claim_name says, or a group's
 * key. For calls that run one at a time for a key.
 */

/*
 * It is not there, as *err says: promise. 0: another claim was promised before, and which; else -1,
 * and *err is the answer.
 */
int promise_give(struct rpc_call *call, const char *key, uint64_t claim, uint64_t *ret_promised,
		 const struct error *err);
/* ERR_ABORTED: another call has looked for it since. Claim 0 asks for no promise. */
int promise_keep(struct rpc_call *call, const char *key, uint64_t claim, struct error *err);

#endif
