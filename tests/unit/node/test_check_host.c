/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the rows of the checks, and of CheckHost: calls at the same time share one look at ZFS,
 * and a look that hangs delays no answer. The look is a function of this file.
 */
#include "tests/cmocka.h"

#include <pthread.h>
#include <string.h>

#include "common/bounded_call.h"
#include "common/clock.h"
#include "node/check/check.h"
#include "node/service.h"

#define SHORT_MS 100
#define CALL_MS  3000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned asked, looks, ended; /* calls that ask for a look, looks begun, and looks ended */
static bool closed;                  /* while true, no look ends */
static int64_t asked_at;             /* when the last look was asked for */
static int64_t waits_until;          /* the deadline of that look */

static void count(unsigned *counter)
{
	scoped_lock(&mutex);
	(*counter)++;
	pthread_cond_broadcast(&changed);
}

static void wait_for(const unsigned *counter, unsigned n)
{
	scoped_lock(&mutex);
	while (*counter < n)
		pthread_cond_wait(&changed, &mutex);
}

static void set_closed(bool value)
{
	scoped_lock(&mutex);
	closed = value;
	pthread_cond_broadcast(&changed);
}

static void wait_until_open(void)
{
	scoped_lock(&mutex);
	while (closed)
		pthread_cond_wait(&changed, &mutex);
}

typeof(check_zfs) __wrap_check_zfs;

void __wrap_check_zfs(struct check *check)
{
	count(&looks);
	wait_until_open();
	check_has(check, NEEDED, "dataset 'tank/zcsi'", false, "look %u says so", looks);
	count(&ended);
}

typeof(bounded_call_run) __real_bounded_call_run, __wrap_bounded_call_run;

int __wrap_bounded_call_run(const struct bounded_call *call, int64_t deadline)
{
	pthread_mutex_lock(&mutex);
	asked_at = now_ms();
	waits_until = deadline;
	pthread_mutex_unlock(&mutex);
	count(&asked);
	return __real_bounded_call_run(call, deadline);
}

static struct settings settings = {.dataset = "tank/zcsi", .address = ""};
static struct node node = {.settings = &settings};

static int begin(void **state)
{
	(void)state;
	asked = looks = ended = 0;
	set_closed(false);
	settings.dataset = "tank/zcsi";
	return 0;
}

/* Call CheckHost. *ret lives in the arena of the call. */
static void ask(struct rpc_call *call, int64_t deadline, CheckHostResponse **ret)
{
	struct error err;

	*call = (struct rpc_call){.app = &node, .deadline = deadline};
	arena_init(&call->arena, SIZE_MAX);
	*ret = new_check_host_response(&call->arena);
	check_host(call, new_check_host_request(&call->arena), *ret, &err);
}

/* Returns the first checked thing whose name begins with these words; else one without a name. */
static CheckedThing find(const CheckHostResponse *response, const char *words)
{
	for (size_t i = 0; i < response->n_things; i++)
		if (strncmp(response->things[i]->thing, words, strlen(words)) == 0)
			return *response->things[i];
	return (CheckedThing){.thing = (char *)"", .remedy = (char *)"none"};
}

static bool has(const CheckHostResponse *response, const char *words)
{
	return *find(response, words).thing;
}

/* Call CheckHost on another thread, and store its remedy for the dataset. */
static void *ask_beside(void *remedy)
{
	CheckHostResponse *response;
	struct rpc_call call;

	ask(&call, NO_DEADLINE, &response);
	snprintf(remedy, 64, "%s", find(response, "dataset").remedy);
	arena_fini(&call.arena);
	return NULL;
}

static void each_thing_has_a_line(void **state)
{
	char text[200] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct check check;
	struct error err;

	(void)state;
	check_begin(&check, &settings, &arena, out);
	check_say(&check, NEEDED, "TLS", 0, NULL);
	check_say(&check, NEEDED, "pool", fail(&err, ERR_UNAVAILABLE, "import it"), &err);
	check_has(&check, OPTIONAL, "address", false, "give --%s", "address");
	fclose(out);
	assert_string_equal(text,
			    "ok TLS\nMISSING pool: import it\noptional address: give --address\n");
	assert_null(check.rows->remedy);
	assert_string_equal(check.rows->next->thing, "pool");
	assert_int_equal(check.rows->next->next->need, OPTIONAL);
}

static void the_answer_has_what_the_report_has(void **state)
{
	CheckHostResponse *response;
	struct rpc_call call;

	(void)state;
	ask(&call, NO_DEADLINE, &response);
	assert_true(find(response, "dataset").needed);
	assert_string_equal(find(response, "dataset").remedy, "look 1 says so");
	assert_string_equal(find(response, "system call mount_setattr(2)").remedy, "");
	assert_true(has(response, "NFS client"));
	assert_false(find(response, "NFS client").needed);
	assert_true(has(response, "mount propagation"));
	assert_false(has(response, "endpoint"));
	assert_false(has(response, "TLS"));
	arena_fini(&call.arena);
}

static void without_a_dataset_no_pool_is_checked(void **state)
{
	CheckHostResponse *response;
	struct rpc_call call;

	(void)state;
	settings.dataset = NULL;
	ask(&call, NO_DEADLINE, &response);
	assert_int_equal(asked, 0);
	assert_true(has(response, "mount propagation"));
	assert_false(has(response, "pool"));
	arena_fini(&call.arena);
}

static void calls_at_the_same_time_share_a_look(void **state)
{
	char remedies[2][64];
	pthread_t threads[2];

	(void)state;
	set_closed(true);
	for (size_t i = 0; i < COUNT(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_beside, remedies[i]), 0);
	wait_for(&asked, 2);
	wait_for(&looks, 1);
	set_closed(false);
	for (size_t i = 0; i < COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(looks, 1);
	assert_string_equal(remedies[0], "look 1 says so");
	assert_string_equal(remedies[1], "look 1 says so");
}

static void a_later_call_looks_again(void **state)
{
	char remedy[64];

	(void)state;
	ask_beside(remedy);
	ask_beside(remedy);
	assert_int_equal(looks, 2);
	assert_string_equal(remedy, "look 2 says so");
}

static void a_look_that_hangs_delays_no_answer(void **state)
{
	CheckHostResponse *response;
	struct rpc_call call;

	(void)state;
	set_closed(true);
	for (size_t i = 0; i < 2; i++) {
		ask(&call, now_ms() + SHORT_MS, &response);
		CheckedThing pool = find(response, "pool of 'tank/zcsi'");
		assert_true(pool.needed);
		assert_non_null(strstr(pool.remedy, "run 'zpool clear tank'"));
		assert_true(has(response, "NFS client"));
		arena_fini(&call.arena);
	}
	wait_for(&looks, 1);
	assert_int_equal(looks, 1);
	set_closed(false);
	wait_for(&ended, 1);
	ask(&call, NO_DEADLINE, &response);
	assert_true(has(response, "dataset"));
	assert_false(has(response, "pool of"));
	arena_fini(&call.arena);
}

/* The server answers by itself when a tenth of the time is left, so the call does so before. */
static void a_fifth_of_the_time_is_left_for_the_answer(void **state)
{
	const int64_t deadline = now_ms() + CALL_MS;
	CheckHostResponse *response;
	struct rpc_call call;

	(void)state;
	ask(&call, deadline, &response);
	assert_true(waits_until <= deadline - (deadline - asked_at) / 5);
	arena_fini(&call.arena);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_thing_has_a_line),
		TEST(the_answer_has_what_the_report_has),
		TEST(without_a_dataset_no_pool_is_checked),
		TEST(calls_at_the_same_time_share_a_look),
		TEST(a_later_call_looks_again),
		TEST(a_look_that_hangs_delays_no_answer),
		TEST(a_fifth_of_the_time_is_left_for_the_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
