/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_AGENT_CLAIMS_H
#define ZCSI_NODE_AGENT_CLAIMS_H

/*
 * Claims: a controller's right to create a volume or a snapshot of a name. The controller looks up
 * the name at every agent, with a claim, and each agent promises to create nothing of that name for
 * an earlier claim. Then the controller asks one agent to create it. If two controllers place one
 * name in two pools at the same time, at least one of them is refused and looks the name up again
 * (agent.proto: claim).
 *
 * A zeroed struct is ready for use: the first lookup reads the highest promise of earlier processes
 * from the lock file. Any thread, once the lock file is locked.
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
		uint64_t id; /* a hash; ids with the same hash share a promise */
		uint64_t claim;
	} list[CLAIMS_MAX];
	size_t next;      /* index of the oldest promise, which the next new one replaces */
	uint64_t floor;   /* no replaced promise was higher; 0 before the first lookup */
	uint64_t highest; /* the highest claim that was ever promised */
};

/*
 * Promise the id to this claim. *ret_promised is the highest claim that the id may have been
 * promised to before. Returns false if that is not lower, or if the promise cannot be stored.
 */
bool claims_take(struct claims *claims, const char *id, uint64_t claim, uint64_t *ret_promised);
/* Returns true if the latest promise of the id is to this claim and was not replaced. */
bool claims_hold(struct claims *claims, const char *id, uint64_t claim);

/*
 * Promises in the handlers of lookups and creations. key: a volume's id, the key of
 * agent_lock_name_key, or a group's key. The caller runs one call at a time per key.
 */

/*
 * Promise the key after a lookup failed with *err. Returns 0 if another claim was promised before;
 * the answer is then *ret_promised, which is that claim. Otherwise returns -1, and the answer is
 * *err. No promise is made unless *err is ERR_NOT_FOUND and the claim is not 0.
 */
int promise_give(struct rpc_call *call, const char *key, uint64_t claim, uint64_t *ret_promised,
		 const struct error *err);
/*
 * Check before a creation that the key is still promised to this claim, or that the claim is 0.
 * Returns 0, or -1 with ERR_ABORTED.
 */
int promise_keep(struct rpc_call *call, const char *key, uint64_t claim, struct error *err);

#endif
