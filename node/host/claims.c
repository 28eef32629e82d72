/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Promises to controllers that look up a name before they create it.
 *
 * Invariant: a promise may be forgotten, when a newer one replaces it or the process ends, but the
 * floor is at least as high, and no claim up to the floor gets a promise. So only the highest
 * promise is stored for the next process, and it is stored before the answer is sent. All promises
 * above `forgot` are known, with the targets of their claims.
 */
#include "node/host/claims.h"

#include "common/clock.h"
#include "common/hash.h"
#include "common/volume/claim.h"
#include "node/zfs/lock_file.h"

/*
 * Set the floor at the first lookup: only then is the lock file locked against other processes.
 * After a boot no promise is stored, so the floor is taken from the clock. A controller whose clock
 * is behind gets the floor in the answer.
 */
static void begin(struct claims *claims)
{
	uint64_t kept = lock_file_number();

	claims->floor = kept ? kept : ((uint64_t)wall_us() + CLAIM_AHEAD_US) << CLAIM_RANDOM_BITS;
	claims->highest = claims->forgot = claims->floor;
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

static uint64_t highest_of(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

static uint64_t hash_of(const char *id)
{
	uint64_t hash = hash_text(HASH_START, id);

	return hash ? hash : 1;
}

static struct promise *find(struct claims *claims, uint64_t id)
{
	for (size_t i = 0; i < CLAIMS_MAX; i++)
		if (claims->list[i].id == id)
			return &claims->list[i];
	return NULL;
}

/* Returns the promise to replace: the oldest for which nothing is being created. */
static struct promise *oldest(struct claims *claims)
{
	struct promise *promise;

	do {
		promise = &claims->list[claims->next];
		claims->next = (claims->next + 1) % CLAIMS_MAX;
	} while (promise->creations);
	return promise;
}

static struct promise *put(struct claims *claims, uint64_t id)
{
	struct promise *promise = oldest(claims);

	claims->floor = highest_of(claims->floor, promise->claim);
	claims->forgot = highest_of(claims->forgot, promise->claim);
	*promise = (struct promise){.id = id};
	return promise;
}

/* Add the present promise of a name, to this node and claim, before a newer one replaces it. */
static void add_target(struct claim_targets *targets, uint64_t node, uint64_t claim)
{
	struct claim_target *place = &targets->list[0];

	for (size_t i = 0; i < CLAIMS_TARGETS; i++) {
		struct claim_target *target = &targets->list[i];
		if (target->claim && target->node == node) {
			target->claim = claim;
			return;
		}
		if (target->claim < place->claim)
			place = target;
	}
	targets->forgot = highest_of(targets->forgot, place->claim);
	*place = (struct claim_target){node, claim};
}

bool claims_take(struct claims *claims, const struct claim *claim, uint64_t *ret_promised,
		 struct claim_targets *ret_before)
{
	scoped_lock(&claims->lock);
	uint64_t hash = hash_of(claim->id);
	struct promise *promise = find(claims, hash);

	if (!claims->floor)
		begin(claims);
	*ret_promised = highest_of(claims->floor, promise ? promise->claim : 0);
	if (claim->number <= *ret_promised || (promise && promise->creations) ||
	    keep(claims, claim->number) < 0)
		return false;
	if (!promise)
		promise = put(claims, hash);
	else
		add_target(&promise->before, promise->target, promise->claim);
	promise->claim = claim->number;
	promise->target = claim->target;
	promise->name = claim->name;
	promise->given = now_ms();
	*ret_before = promise->before;
	ret_before->forgot = highest_of(ret_before->forgot, claims->forgot);
	return true;
}

/* Returns true if the promise may be used for a creation at this node. */
static bool is_valid(const struct promise *promise, uint64_t node)
{
	return promise->claim && (!promise->target || promise->target == node) &&
	       (promise->creations || now_ms() - promise->given < CLAIMS_VALID_MS);
}

bool claims_begin(struct claims *claims, const char *id, uint64_t claim, uint64_t node)
{
	scoped_lock(&claims->lock);
	struct promise *promise = find(claims, hash_of(id));

	if (!promise || promise->claim != claim || !is_valid(promise, node))
		return false;
	promise->creations++;
	return true;
}

void claims_end(struct claims *claims, const char *id)
{
	scoped_lock(&claims->lock);
	struct promise *promise = find(claims, hash_of(id));

	if (promise)
		promise->creations--;
}

uint64_t claims_barrier(struct claims *claims, uint64_t claim, uint64_t node, struct arena *arena,
			uint64_t **ret_names, size_t *ret_n)
{
	scoped_lock(&claims->lock);

	if (!claims->floor)
		begin(claims);
	uint64_t barrier = highest_of(claims->highest, claim);
	if (keep(claims, barrier) < 0)
		return 0;
	claims->floor = barrier;
	*ret_n = 0;
	*ret_names = arena_alloc(arena, CLAIMS_MAX * sizeof(**ret_names));
	for (size_t i = 0; i < CLAIMS_MAX; i++)
		if (is_valid(&claims->list[i], node))
			(*ret_names)[(*ret_n)++] = claims->list[i].name;
	return barrier;
}
