/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Promises to those who look for something before they make it.
 *
 * Invariant: a promise that is forgotten, to make room or with the process, is covered by the
 * floor, below which nothing is granted. So the highest is all that is kept for the next process,
 * and it is kept before it is given.
 */
#include "node/agent/claims.h"

#include "common/clock.h"
#include "common/hash.h"
#include "common/mem.h"
#include "node/host/node.h"
#include "node/zfs/lock_file.h"

/*
 * After a boot nothing is recorded. A claim begins with the microsecond in which it was made, by
 * the controller's clock, which may be ahead of ours by this much. A controller whose clock is
 * behind is answered with the floor.
 */
#define AHEAD_MAX_US (60 * (uint64_t)1000000)
#define RANDOM_BITS  12

/* Read the floor at the first question: the lock is held then, and no other process promises. */
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
		    "'%s' is not made: another call has looked for it since; repeat", key);
}
