/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Counting what the volumes of this node promise, and refusing more than the limits.
 *
 * Invariant: a volume that is being made or grown counts from its check on, once, until the catalog
 * has it. So calls that run at the same time do not exceed a limit together. A call that lets
 * nothing grow is not refused, even if a limit is exceeded already, because the limit or the pool
 * became smaller, or volumes moved here.
 */
#include "node/host/size_limits.h"

#include <inttypes.h>
#include <string.h>

#include "node/catalog/totals.h"

/* The sums for each limit. */
struct tally {
	const struct size_limits *limits;
	const struct pledge *pledge; /* the pledge of the call that asks; NULL: none does */
	int64_t *own;                /* the promise of the volume before the call */
	int64_t *others;             /* the promises of all others, with their pledges */
};

int64_t size_limits_promise(const struct dataset *dataset)
{
	return dataset->size ? dataset->size : dataset->used;
}

static bool counts(const struct size_limit *limit, const char *id)
{
	return strncmp(id, limit->prefix, strlen(limit->prefix)) == 0;
}

static bool is(const char *id, const char *other)
{
	return other && strcmp(id, other) == 0;
}

/* Returns the sum; on overflow INT64_MAX, which is more than any limit. */
static int64_t sum(int64_t one, int64_t other)
{
	return other > INT64_MAX - one ? INT64_MAX : one + other;
}

static void count(const struct dataset *dataset, void *arg)
{
	struct tally *tally = arg;
	const struct size_limits *limits = tally->limits;
	const struct pledge *asks = tally->pledge;
	bool own = asks && (is(dataset->id, asks->id) || is(dataset->id, asks->former));
	int64_t *sums = own ? tally->own : tally->others, size = size_limits_promise(dataset);

	for (struct pledge *each = limits->pledges; each; each = each->next) {
		bool same = is(dataset->id, each->id);
		each->seen |= same;
		each->former_seen |= is(dataset->id, each->former);
		if (same && each->size > size)
			size = each->size;
	}
	for (size_t i = 0; i < limits->n; i++)
		if (counts(&limits->rows[i], dataset->id))
			sums[i] = sum(sums[i], size);
}

/* Count the volumes that the catalog does not have yet. */
static void count_pledges(const struct tally *tally)
{
	const struct size_limits *limits = tally->limits;

	for (const struct pledge *each = limits->pledges; each; each = each->next)
		for (size_t i = 0; i < limits->n && !each->seen; i++) {
			const struct size_limit *limit = &limits->rows[i];
			bool by_former = each->former_seen && counts(limit, each->former);
			if (counts(limit, each->id) && !by_former)
				tally->others[i] = sum(tally->others[i], each->size);
		}
}

/* Count all volumes and pledges for each limit. The caller holds the lock. */
static struct tally take(const struct size_limits *limits, struct catalog *catalog,
			 struct arena *arena, const struct pledge *pledge)
{
	const size_t size = limits->n * sizeof(int64_t);
	struct tally tally = {.limits = limits,
			      .pledge = pledge,
			      .own = arena_alloc(arena, size),
			      .others = arena_alloc(arena, size)};

	for (struct pledge *each = limits->pledges; each; each = each->next)
		each->seen = each->former_seen = false;
	catalog_each(catalog, count, &tally);
	count_pledges(&tally);
	return tally;
}

/* Returns the limit in bytes, less than INT64_MAX; 0 if it is of a pool whose size is unknown. */
static int64_t bytes_of(const struct size_limit *limit, int64_t capacity)
{
	int64_t bytes;

	if (!limit->thousandths)
		return limit->bytes;
	int64_t rest = capacity % 1000 * limit->thousandths / 1000;
	if (__builtin_mul_overflow(capacity / 1000, limit->thousandths, &bytes) ||
	    bytes > INT64_MAX - 1 - rest)
		return INT64_MAX - 1;
	return bytes + rest;
}

static int64_t capacity_of(struct catalog *catalog, struct arena *arena)
{
	struct catalog_pool pool;

	catalog_pool(catalog, arena, &pool);
	return pool.capacity;
}

static char *option_of(struct arena *arena, const struct size_limit *limit)
{
	if (!limit->thousandths)
		return arena_printf(arena, "--limit %s=%" PRId64, limit->prefix, limit->bytes);
	char *text = arena_printf(arena, "--overcommit %" PRId64 ".%03" PRId64,
				  limit->thousandths / 1000, limit->thousandths % 1000);
	size_t length = strlen(text);
	while (text[length - 1] == '0')
		length--;
	text[text[length - 1] == '.' ? length - 1 : length] = '\0';
	return text;
}

static int refuse(struct rpc_call *call, const struct size_limit *limit,
		  const struct pledge *pledge, int64_t promised, int64_t bytes, struct error *err)
{
	const struct node *node = call->app;
	const char *which = "all volumes";

	if (*limit->prefix)
		which = arena_printf(&call->arena, "the volumes whose names begin with '%s'",
				     limit->prefix);
	return fail(err, ERR_RESOURCE_EXHAUSTED,
		    "with volume '%s' of %" PRId64 " bytes the sizes of %s on node '%s' would be "
		    "%" PRId64 " bytes in all, and the limit is %" PRId64 ", by %s; delete "
		    "volumes there, ask for less, or start its zcsi-node with a larger limit",
		    pledge->id, pledge->size, which, node->id, promised, bytes,
		    option_of(&call->arena, limit));
}

static int check(struct rpc_call *call, const struct tally *tally, struct error *err)
{
	const struct node *node = call->app;
	const struct pledge *pledge = tally->pledge;
	const int64_t capacity = capacity_of(node->catalog, &call->arena);

	for (size_t i = 0; i < tally->limits->n; i++) {
		const struct size_limit *limit = &tally->limits->rows[i];
		int64_t bytes = bytes_of(limit, capacity);
		int64_t after = sum(tally->others[i], pledge->size);
		if (!counts(limit, pledge->id) || pledge->size <= tally->own[i])
			continue;
		if (limit->thousandths && !capacity)
			return fail(err, ERR_UNAVAILABLE,
				    "the size of '%s', of which --overcommit is a multiple, is not "
				    "known; try again",
				    catalog_parent(node->catalog));
		if (after > bytes)
			return refuse(call, limit, pledge, after, bytes, err);
	}
	return 0;
}

/* Wait until all volumes are known: without them the sums would be too small. */
static int await_volumes(struct rpc_call *call, struct error *err)
{
	const struct node *node = call->app;
	struct dataset_list ignored;
	bool more;

	return catalog_page(node->catalog, call->deadline, &call->arena, "", 1, &ignored, &more,
			    err);
}

int size_limits_begin(struct rpc_call *call, struct pledge *pledge, struct error *err)
{
	const struct node *node = call->app;
	struct size_limits *limits = node->size_limits;

	if (!limits || !limits->n)
		return 0;
	if (await_volumes(call, err) < 0)
		return -1;
	scoped_lock(&limits->lock);
	const struct tally tally = take(limits, node->catalog, &call->arena, pledge);
	if (check(call, &tally, err) < 0)
		return -1;
	pledge->next = limits->pledges;
	limits->pledges = pledge;
	return 0;
}

void size_limits_end(struct rpc_call *call, struct pledge *pledge)
{
	struct size_limits *limits = ((const struct node *)call->app)->size_limits;

	if (!limits || !limits->n)
		return;
	scoped_lock(&limits->lock);
	struct pledge **at = &limits->pledges;
	while (*at != pledge)
		at = &(*at)->next;
	*at = pledge->next;
}

size_t size_limits_read(struct size_limits *limits, struct catalog *catalog, struct arena *arena,
			struct size_limit_state **ret)
{
	size_t n = 0;

	if (!limits || !limits->n || !catalog)
		return 0;
	const int64_t capacity = capacity_of(catalog, arena);
	scoped_lock(&limits->lock);
	const struct tally tally = take(limits, catalog, arena, NULL);
	*ret = arena_alloc(arena, limits->n * sizeof(**ret));
	for (size_t i = 0; i < limits->n; i++) {
		const struct size_limit *limit = &limits->rows[i];
		if (limit->thousandths && !capacity)
			continue;
		(*ret)[n++] = (struct size_limit_state){.limit = limit,
							.bytes = bytes_of(limit, capacity),
							.promised = tally.others[i],
							.option = option_of(arena, limit)};
	}
	return n;
}
