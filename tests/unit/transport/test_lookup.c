/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Lookups of host names: how many run at once, and when one may be cancelled.
 */
#include "tests/cmocka.h"

#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "transport/lookup.h"
/* NOLINTNEXTLINE(bugprone-suspicious-include): see counted_threads.c */
#include "tests/transport/counted_threads.c"

#define AT_ONCE 64 /* limit of concurrent lookups, as in lookup.c */
#define MANY    200

static const struct endpoint endpoint = {.text = "tcp://name.test:1", .host = "name.test"};
static struct loop *loop;
static sem_t begun, answer; /* begun: posted when a lookup begins; answer: lets one lookup end */
static atomic_uint running, most;
static unsigned found, expected;

int __wrap_endpoint_resolve(const struct endpoint *of, struct address *ret, unsigned max,
			    struct error *err);
int __wrap_endpoint_resolve(const struct endpoint *of, struct address *ret, unsigned max,
			    struct error *err)
{
	unsigned now = ++running;

	(void)of;
	(void)max;
	(void)err;
	if (now > most)
		most = now;
	sem_post(&begun);
	sem_wait(&answer);
	running--;
	ret[0] = (struct address){.size = 0};
	return 1;
}

static void on_found(void *arg, const struct addresses *addresses, const struct error *err)
{
	(void)arg;
	(void)err;
	assert_int_equal(addresses->n, 1);
	if (++found == expected)
		loop_stop(loop);
}

static int start(void **state)
{
	struct error err;

	(void)state;
	running = most = found = expected = 0;
	sem_init(&begun, 0, 0);
	sem_init(&answer, 0, 0);
	return loop_new(&loop, &err);
}

static void wait_for_threads(void)
{
	while (threads > 0)
		sched_yield();
}

static int stop(void **state)
{
	(void)state;
	loop_free(loop);
	loop = NULL;
	wait_for_threads();
	return 0;
}

static void begin(struct lookup **ret, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		ret[i] = lookup_begin(loop, &endpoint, on_found, NULL);
		assert_non_null(ret[i]);
	}
	for (unsigned i = 0; i < n && i < AT_ONCE; i++)
		sem_wait(&begun);
}

static void end(unsigned n)
{
	expected = n;
	for (unsigned i = 0; i < n; i++)
		sem_post(&answer);
	loop_run(loop);
	assert_int_equal(found, n);
}

static void names_beyond_the_limit_are_looked_up_later(void **state)
{
	struct lookup *lookups[MANY];

	(void)state;
	begin(lookups, MANY);
	end(MANY);
	assert_int_equal(most, AT_ONCE);
}

static void a_lookup_that_has_not_begun_is_cancelled(void **state)
{
	struct lookup *lookups[AT_ONCE + 2];

	(void)state;
	begin(lookups, AT_ONCE + 2);
	lookup_cancel(lookups[AT_ONCE]);
	end(AT_ONCE + 1);
}

/* The loop is freed while the lookup runs. The teardown, stop(), waits for the thread of the
 * lookup, which must not use the loop. */
static void a_lookup_that_runs_is_cancelled(void **state)
{
	struct lookup *lookup;

	(void)state;
	begin(&lookup, 1);
	lookup_cancel(lookup);
	loop_free(loop);
	loop = NULL;
	sem_post(&answer);
}

static void stop_loop(struct loop_task *task)
{
	(void)task;
	loop_stop(loop);
}

static void a_lookup_with_an_answer_is_cancelled(void **state)
{
	struct loop_task last = {.fn = stop_loop};
	struct lookup *lookup;

	(void)state;
	begin(&lookup, 1);
	sem_post(&answer);
	wait_for_threads();
	lookup_cancel(lookup);
	loop_post(loop, &last);
	loop_run(loop);
	assert_int_equal(found, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(names_beyond_the_limit_are_looked_up_later),
		TEST(a_lookup_that_has_not_begun_is_cancelled),
		TEST(a_lookup_that_runs_is_cancelled),
		TEST(a_lookup_with_an_answer_is_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
