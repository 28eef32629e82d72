/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Promises to controllers that look up a name before they create it.
 *
 * Invariant: a promise may be forgotten, when a newer one replaces it or the process ends, but the
 * floor is at least as high, and no claim up to the floor gets a promise. So only the highest
 * promise is stored for the next process, and it is stored before the answer is sent.
 */
#include "node/agent/claims.h"

#include "common/clock.h"
#include "common/hash.h"
#include "common/mem.h"
#include "node/host/node.h"
#include "node/zfs/lock_file.h"

/*
 * After a boot no promise is stored, so the floor is taken from the clock. The high bits of a claim
 * are the microsecond of its creation by the controller's clock, which may be ahead of this host's
 * by this much. A controller whose clock is behind gets the floor in the answer.
 */
#define AHEAD_MAX_US (60 * (uint64_t)1000000)
#define RANDOM_BITS  12

/* Set the floor at the first lookup: only then is the lock file locked against other processes. */
static void begin(struct claims *claims)
{
	uint64_t kept = lock_file_number();

	claims->floor = kept ? kept : ((uint64_t)wall_us() + AHEAD_MAX_US) << RANDOM_BITS;
	claims->highest = claims->floor;
}

static int keep(struct claims *claims, uint64_t claim)
{
	if (claim <= claims->highest)
		return 0;
	if (lock_file_keep(claim) < 0)
		return -1;
	claims->highest = claim;
	return 0;
}

static uint64_t hash_of(const char *id)
{
	uint64_t hash = hash_text(HASH_START, id);

	return hash ? hash : 1;
}

static struct promise *find(struct claims *claims, uint64_t id)
{
	for (size_t i = 0; i < CLAIMS_MAX; i++) {
		if (claims->list[i].id == id)
			return &claims->list[i];
	}
	return NULL;
}

static struct promise *put(struct claims *claims, uint64_t id)
{
	struct promise *promise = &claims->list[claims->next];

	claims->next = (claims->next + 1) % CLAIMS_MAX;
	if (promise->claim > claims->floor)
		claims->floor = promise->claim;
	promise->id = id;
	return promise;
}

bool claims_take(struct claims *claims, const char *id, uint64_t claim, uint64_t *ret_promised)
{
	scoped_lock(&claims->lock);
	uint64_t hash = hash_of(id);
	struct promise *promise = find(claims, hash);

	if (!claims->floor)
		begin(claims);
	*ret_promised = promise ? promise->claim : claims->floor;
	if (claim <= *ret_promised || keep(claims, claim) < 0)
		return false;
	if (!promise)
		promise = put(claims, hash);
	promise->claim = claim;
	return true;
}

bool claims_hold(struct claims *claims, const char *id, uint64_t claim)
{
	scoped_lock(&claims->lock);
	const struct promise *promise = find(claims, hash_of(id));

	return promise && promise->claim == claim;
}

int promise_give(struct rpc_call *call, const char *key, uint64_t claim, uint64_t *ret_promised,
		 const struct error *err)
{
	const struct node *node = call->app;

	if (err->code != ERR_NOT_FOUND || !claim ||
	    claims_take(node->claims, key, claim, ret_promised))
		return -1;
	return 0;
}

int promise_keep(struct rpc_call *call, const char *key, uint64_t claim, struct error *err)
{
	const struct node *node = call->app;

	if (!claim || claims_hold(node->claims, key, claim))
		return 0;
	return fail(err, ERR_ABORTED,
		    "'%s' cannot be created: another call looked it up at the same time; try again",
		    key);
}
