/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of --overcommit and --limit: their values, and that the sizes of volumes together never
 * exceed a limit, whatever calls run at the same time.
 */
#include "tests/cmocka.h"

#include <pthread.h>
#include <string.h>

#include "common/clock.h"
#include "node/catalog/catalog_inside.h"
#include "node/host/size_limits.h"

#define PARENT  "tank/zcsi"
#define THREADS 16
#define ROUNDS  40

static struct size_limits limits = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct node node = {.id = "n1", .size_limits = &limits};
static struct error err;

static int setup(void **state)
{
	(void)state;
	node.catalog = catalog_new(PARENT, 30);
	node.catalog->state = CATALOG_READY;
	node.catalog->capacity = 1000;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	size_limits_free(limits.rows, limits.n);
	limits.rows = NULL;
	limits.n = 0;
	catalog_free(node.catalog);
	return 0;
}

static int parse(const char *overcommit, size_t n, const char **values)
{
	const struct option_list list = {.values = values, .n = n};

	size_limits_free(limits.rows, limits.n);
	return size_limits_parse(overcommit, &list, &limits.rows, &limits.n, &err);
}

/* Set --overcommit, and one --limit if it is not NULL. */
static void limit(const char *overcommit, const char *value)
{
	assert_int_equal(parse(overcommit, value ? 1 : 0, &value), 0);
}

static void put(const char *id, int64_t size, int64_t used)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const struct dataset dataset = {.id = arena_strdup(&arena, id),
					.name = dataset_name(&arena, PARENT, id),
					.size = size,
					.used = used};

	catalog_put(node.catalog, &dataset);
}

static void begin_call(struct rpc_call *call)
{
	*call = (struct rpc_call){.app = &node, .deadline = now_ms() + 60000};
	arena_init(&call->arena, SIZE_MAX);
}

/* Create, grow or rename a volume as the handlers do. former: the id before a rename, or NULL. */
static int make(const char *former, const char *id, int64_t size)
{
	struct pledge pledge = {.id = id, .former = former, .size = size};
	struct rpc_call call;

	begin_call(&call);
	int failed = size_limits_begin(&call, &pledge, &err);
	if (!failed && former)
		catalog_drop(node.catalog, dataset_name(&call.arena, PARENT, former));
	if (!failed) {
		put(id, size, 0);
		size_limits_end(&call, &pledge);
	}
	arena_fini(&call.arena);
	return failed;
}

static void assert_refused(int failed, const char *words)
{
	assert_int_equal(failed, -1);
	assert_int_equal(err.code, ERR_RESOURCE_EXHAUSTED);
	if (!strstr(err.text, words))
		print_error("no '%s' in: %s\n", words, err.text);
	assert_non_null(strstr(err.text, words));
}

/* Returns the state of the limit for a prefix; "": that of --overcommit. */
static struct size_limit_state state_of(const char *prefix)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct size_limit_state *states = NULL;
	size_t n = size_limits_read(&limits, node.catalog, &arena, &states);

	for (size_t i = 0; i < n; i++)
		if (strcmp(states[i].limit->prefix, prefix) == 0)
			return states[i];
	print_error("there is no limit for '%s'\n", prefix);
	abort();
}

static void wrong_values_are_refused(void **state)
{
	static const char *const ratios[] = {"",       "-1",  "x",  "1.", "1.2345", ".5",
					     "1000.1", "1e3", " 1", "1 ", "1001",   "0x1"};
	static const char *const wrong[] = {
		"prod-",    "=5",        "prod-=",   "prod-=0",        "prod-=-1",
		"prod-=5X", "prod-=5KK", "prod-= 5", "prod-=8388608T", "prod-=9223372036854775807"};
	const char *good[] = {"a=1", "b=2K", "c=3m", "d=4G", "e=5T", "f=6P", "x=y=7"};
	const char *twice[] = {"a=1", "b=1", "a=2"};

	(void)state;
	for (size_t i = 0; i < COUNT(ratios); i++) {
		assert_int_equal(parse(ratios[i], 0, NULL), -1);
		assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
		assert_non_null(strstr(err.text, "--overcommit"));
	}
	for (size_t i = 0; i < COUNT(wrong); i++) {
		const char *value = wrong[i];
		assert_int_equal(parse("0", 1, &value), -1);
		assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
		assert_non_null(strstr(err.text, wrong[i]));
	}
	assert_int_equal(parse("0", COUNT(twice), twice), -1);
	assert_non_null(strstr(err.text, "a=2"));
	assert_int_equal(parse("0.000", 0, NULL), 0);
	assert_int_equal(limits.n, 0);
	assert_int_equal(parse("1.05", COUNT(good), good), 0);
	assert_int_equal(limits.n, 1 + COUNT(good));
	assert_int_equal(limits.rows[0].thousandths, 1050);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(limits.rows[1 + i].bytes, (int64_t)(i + 1) << (10 * i));
	assert_string_equal(limits.rows[7].prefix, "x=y");
}

static void a_pool_promises_no_more_than_its_share(void **state)
{
	(void)state;
	limit("1.5", NULL);
	put("without quota", 0, 100);
	assert_int_equal(make(NULL, "a", 1000), 0);
	assert_refused(make(NULL, "b", 401), "'b' of 401 bytes the sizes of all volumes on node "
					     "'n1' would be 1501 bytes in all, and the limit is "
					     "1500, by --overcommit 1.5;");
	assert_int_equal(make(NULL, "b", 400), 0);
	assert_refused(make(NULL, "c", 1), "1501");
	assert_int_equal(state_of("").promised, 1500);
	assert_int_equal(state_of("").bytes, 1500);
	catalog_drop(node.catalog, PARENT "/a");
	assert_int_equal(make(NULL, "c", 1000), 0);
}

static void a_prefix_promises_no_more_than_its_limit(void **state)
{
	(void)state;
	limit("0", "prod-=2K");
	assert_int_equal(make(NULL, "test-a", 5000), 0);
	assert_int_equal(make(NULL, "prod-a", 2000), 0);
	assert_refused(make(NULL, "prod-b", 49), "the volumes whose names begin with 'prod-' on "
						 "node 'n1' would be 2049 bytes in all, and the "
						 "limit is 2048, by --limit prod-=2048;");
	assert_int_equal(make(NULL, "prod", 5000), 0);
	assert_int_equal(make(NULL, "prod-b", 48), 0);
	assert_int_equal(state_of("prod-").promised, 2048);
}

static void only_growth_counts(void **state)
{
	(void)state;
	limit("1", "a=700");
	assert_int_equal(make(NULL, "a1", 500), 0);
	assert_int_equal(make(NULL, "b1", 400), 0);
	assert_refused(make(NULL, "b1", 501), "1001");
	assert_int_equal(make(NULL, "b1", 500), 0);
	assert_refused(make("b1", "a2", 500), "--limit a=700");
	assert_int_equal(make("a1", "c", 500), 0);
	assert_int_equal(state_of("a").promised, 0);
	assert_int_equal(make("b1", "a2", 500), 0);
	assert_int_equal(state_of("").promised, 1000);
	assert_int_equal(state_of("a").promised, 500);
}

/* A limit that is exceeded already refuses growth, and nothing else. */
static void a_smaller_limit_refuses_growth_alone(void **state)
{
	(void)state;
	limit("1", NULL);
	assert_int_equal(make(NULL, "a", 600), 0);
	assert_int_equal(make(NULL, "b", 400), 0);
	node.catalog->capacity = 500;
	assert_refused(make(NULL, "c", 1), "1001");
	assert_refused(make(NULL, "a", 601), "1001");
	assert_int_equal(make(NULL, "a", 600), 0);
	assert_int_equal(make("a", "c", 600), 0);
}

static void a_pool_of_unknown_size_is_unavailable(void **state)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct size_limit_state *states;

	(void)state;
	limit("1", "a=700");
	node.catalog->capacity = 0;
	assert_int_equal(make(NULL, "b", 1), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_int_equal(size_limits_read(&limits, node.catalog, &arena, &states), 1);
	assert_string_equal(states[0].option, "--limit a=700");
}

static void no_volume_is_made_before_the_first_reading(void **state)
{
	struct pledge pledge = {.id = "a", .size = 1};
	struct rpc_call call;

	(void)state;
	limit("1", NULL);
	node.catalog->state = CATALOG_READING;
	begin_call(&call);
	call.deadline = now_ms() + 10;
	assert_int_equal(size_limits_begin(&call, &pledge, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	arena_fini(&call.arena);
}

static void sums_do_not_overflow(void **state)
{
	(void)state;
	limit("1000", "a=9223372036854775806");
	node.catalog->capacity = INT64_MAX;
	assert_int_equal(make(NULL, "a1", INT64_MAX - 2), 0);
	assert_int_equal(state_of("").bytes, INT64_MAX - 1);
	assert_refused(make(NULL, "a2", 2), "9223372036854775807 bytes in all");
	assert_refused(make(NULL, "a2", INT64_MAX), "9223372036854775807 bytes in all");
	assert_int_equal(make(NULL, "a2", 1), 0);
	assert_refused(make(NULL, "b", INT64_MAX), "--overcommit 1000;");
	put("a3", INT64_MAX, 0);
	assert_int_equal(state_of("").promised, INT64_MAX);
	assert_refused(make(NULL, "b", 1), "--overcommit 1000;");
	node.catalog->capacity = 999999;
	limit("0.001", NULL);
	assert_int_equal(state_of("").bytes, 999);
}

/* The volume that a running call creates counts once, before and after the catalog has it. */
static void a_call_that_runs_counts_once(void **state)
{
	struct pledge pledge = {.id = "a", .size = 600};
	struct rpc_call call;

	(void)state;
	limit("1", NULL);
	begin_call(&call);
	assert_int_equal(size_limits_begin(&call, &pledge, &err), 0);
	assert_refused(make(NULL, "b", 401), "1001");
	assert_int_equal(state_of("").promised, 600);
	put("a", 500, 0);
	assert_int_equal(state_of("").promised, 600);
	put("a", 600, 0);
	assert_int_equal(state_of("").promised, 600);
	assert_int_equal(make(NULL, "b", 400), 0);
	size_limits_end(&call, &pledge);
	assert_null(limits.pledges);
	arena_fini(&call.arena);
}

/* A rename that runs counts for both names, because it may fail, and for the pool once. */
static void a_rename_that_runs_counts_for_both_names(void **state)
{
	struct pledge pledge = {.id = "b1", .former = "a1", .size = 600};
	const char *both[] = {"a=1000", "b=1000"};
	struct rpc_call call;

	(void)state;
	assert_int_equal(parse("1", COUNT(both), both), 0);
	put("a1", 600, 0);
	begin_call(&call);
	assert_int_equal(size_limits_begin(&call, &pledge, &err), 0);
	assert_int_equal(state_of("").promised, 600);
	assert_int_equal(state_of("a").promised, 600);
	assert_int_equal(state_of("b").promised, 600);
	catalog_drop(node.catalog, PARENT "/a1");
	assert_int_equal(state_of("").promised, 600);
	assert_int_equal(state_of("a").promised, 0);
	put("b1", 600, 0);
	assert_int_equal(state_of("").promised, 600);
	size_limits_end(&call, &pledge);
	assert_int_equal(state_of("b").promised, 600);
	arena_fini(&call.arena);
}

/* Calls of several threads at the same time */

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static int64_t promised; /* the sizes of volumes begun or made, as the test counts them */
static unsigned excesses, made;

static void account(int64_t size, int64_t most)
{
	scoped_lock(&counting);

	promised += size;
	excesses += promised > most;
}

static void *make_many(void *arg)
{
	const int number = *(const int *)arg;
	struct rpc_call call;
	struct error own;

	begin_call(&call);
	for (int i = 0; i < ROUNDS; i++) {
		const char *id = arena_printf(&call.arena, "v-%d-%d", number, i);
		struct pledge pledge = {.id = id, .size = 1 + (number * 7 + i * 3) % 10};
		if (size_limits_begin(&call, &pledge, &own) < 0)
			continue;
		account(pledge.size, 1000);
		if (i % 3 == 0) {
			account(-pledge.size, 1000); /* the call fails */
		} else {
			put(id, pledge.size, 0);
			__atomic_fetch_add(&made, 1, __ATOMIC_SEQ_CST);
		}
		size_limits_end(&call, &pledge);
	}
	arena_fini(&call.arena);
	return NULL;
}

static void calls_at_the_same_time_stay_within_the_limit(void **state)
{
	pthread_t threads[THREADS];
	int numbers[THREADS];

	(void)state;
	limit("1", "v-=1000");
	promised = excesses = made = 0;
	for (int i = 0; i < THREADS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, make_many, &numbers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(excesses, 0);
	assert_null(limits.pledges);
	assert_int_equal(state_of("").promised, promised);
	assert_int_equal(state_of("v-").promised, promised);
	/*
	 * The calls ask for more than the limit in all, so less is left than the largest size, 10.
	 */
	assert_in_range(promised, 991, 1000);
	assert_int_equal(make(NULL, "the rest", 1000 - promised + 1), -1);
	assert_in_range(made, 100, THREADS * ROUNDS);
}

/* Random calls against a model that counts by itself */

static unsigned seed = 20;

static int64_t below(int64_t most)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % most;
}

static const char *const names[] = {"a1", "a2", "a3", "b1", "b2", "ab1", "c1", "c2"};
static int64_t sizes[COUNT(names)]; /* 0: there is no volume of this name */

static int64_t model(const char *prefix, size_t but)
{
	int64_t all = 0;

	for (size_t i = 0; i < COUNT(names); i++)
		if (i != but && strncmp(names[i], prefix, strlen(prefix)) == 0)
			all += sizes[i];
	return all;
}

static bool fits(size_t at, size_t former, int64_t size)
{
	const struct {
		const char *prefix;
		int64_t most;
	} rows[] = {{"", 1000}, {"a", 400}, {"ab", 150}, {"b", 300}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		bool counts = strncmp(names[at], rows[i].prefix, strlen(rows[i].prefix)) == 0;
		bool before = strncmp(names[former], rows[i].prefix, strlen(rows[i].prefix)) == 0;
		int64_t others = model(rows[i].prefix, former);
		if (counts && size > (before ? sizes[former] : 0) && others + size > rows[i].most)
			return false;
	}
	return true;
}

static void step(size_t at, size_t other)
{
	bool rename = sizes[other] && !sizes[at] && below(2);
	size_t from = rename ? other : at;
	int64_t size = rename ? sizes[other] : 1 + below(300);
	bool fit = fits(at, from, size);

	if (sizes[at] && below(3) == 0) {
		auto_arena struct arena arena = {.cap = SIZE_MAX};
		catalog_drop(node.catalog, dataset_name(&arena, PARENT, names[at]));
		sizes[at] = 0;
		return;
	}
	assert_int_equal(make(rename ? names[other] : NULL, names[at], size), fit ? 0 : -1);
	if (fit && rename)
		sizes[other] = 0;
	if (fit)
		sizes[at] = size;
	assert_int_equal(state_of("").promised, model("", COUNT(names)));
	assert_int_equal(state_of("a").promised, model("a", COUNT(names)));
	assert_int_equal(state_of("ab").promised, model("ab", COUNT(names)));
	assert_int_equal(state_of("b").promised, model("b", COUNT(names)));
}

static void random_calls_are_counted_as_a_model_counts(void **state)
{
	const char *prefixes[] = {"a=400", "ab=150", "b=300"};

	(void)state;
	assert_int_equal(parse("1", COUNT(prefixes), prefixes), 0);
	for (int i = 0; i < 5000; i++)
		step((size_t)below(COUNT(names)), (size_t)below(COUNT(names)));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wrong_values_are_refused),
		TEST(a_pool_promises_no_more_than_its_share),
		TEST(a_prefix_promises_no_more_than_its_limit),
		TEST(only_growth_counts),
		TEST(a_smaller_limit_refuses_growth_alone),
		TEST(a_pool_of_unknown_size_is_unavailable),
		TEST(no_volume_is_made_before_the_first_reading),
		TEST(sums_do_not_overflow),
		TEST(a_call_that_runs_counts_once),
		TEST(a_rename_that_runs_counts_for_both_names),
		TEST(calls_at_the_same_time_stay_within_the_limit),
		TEST(random_calls_are_counted_as_a_model_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
