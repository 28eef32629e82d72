/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_AGENT_CLAIMS_H
#define ZCSI_NODE_AGENT_CLAIMS_H

/*
 * Claims: the right to create a volume, or a snapshot, of a name. A controller looks for the name
 * at every agent with a claim, and each agent promises to create nothing of that name for an
 * earlier claim. Then the controller asks one of them to create it. When two controllers place one
 * name in two pools at the same time, at least one is refused, and looks again (agent.proto:
 * claim).
 *
 * All zeros is the state of a process that starts: the promises of earlier processes are kept. Any
 * thread, once the lock file is held.
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
/* Returns true if no later claim was promised since, and no promise was forgotten. */
bool claims_hold(struct claims *claims, const char *id, uint64_t claim);

/*
 * Promises in a handler's answer (agent.proto: claim). key: a volume's id, the key of
 * agent_lock_name_key, or a group's key. For calls that run one at a time per key.
 */

/*
 * Promise after a lookup that found nothing, as *err says. Returns 0 when another claim was
 * promised before, which is in *ret_promised; else -1, and *err is the answer.
 */
int promise_give(struct rpc_call *call, const char *key, uint64_t claim, uint64_t *ret_promised,
		 const struct error *err);
/* ERR_ABORTED: another call has looked for it since. Claim 0 asks for no promise. */
int promise_keep(struct rpc_call *call, const char *key, uint64_t claim, struct error *err);

#endif
