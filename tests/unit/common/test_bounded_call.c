/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of bounded_call: calls whose system call is a read from a pipe of the test, so that a call
 * returns only when the test writes to the pipe.
 */
#include "tests/cmocka.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/bounded_call.h"
#include "common/mem.h"

#define LONG_MS  10000
#define SHORT_MS 50

static int gate[2];
static atomic_int ran, discarded;

struct work {
	bool waits;
	bool done;
};

static void run(void *arg)
{
	struct work *work = arg;
	char byte;

	atomic_fetch_add(&ran, 1);
	work->done = !work->waits || read(gate[0], &byte, 1) == 1;
}

static void discard(void *arg)
{
	free(arg);
	atomic_fetch_add(&discarded, 1);
}

static int send(const char *key, bool waits, int64_t ms, struct work **ret)
{
	struct work *work = mem_alloc(sizeof(*work));

	work->waits = waits;
	*ret = work;
	return bounded_call_run(&(struct bounded_call){"test call", key, run, discard, work},
				now_ms() + ms);
}

static void until(const atomic_int *value, int wanted)
{
	for (int64_t end = now_ms() + LONG_MS; atomic_load(value) != wanted; sched_yield())
		assert_true(now_ms() < end);
}

static void a_call_that_returns_in_time_gives_its_work_back(void **state)
{
	struct work *work;

	(void)state;
	assert_int_equal(send("a", false, LONG_MS, &work), 0);
	assert_true(work->done);
	free(work);
	assert_int_equal(discarded, 0);
}

/* While a call that timed out is still running, no other call with its key starts; calls with other
 * keys do. */
static void a_late_call_is_discarded_when_it_returns(void **state)
{
	struct work *work;

	(void)state;
	ran = 0;
	assert_int_equal(send("a", true, SHORT_MS, &work), ETIMEDOUT);
	assert_int_equal(discarded, 0);
	until(&ran, 1);
	assert_int_equal(send("a", false, SHORT_MS, &work), ETIMEDOUT);
	assert_int_equal(ran, 1);
	until(&discarded, 1);
	assert_int_equal(send("b", false, LONG_MS, &work), 0);
	free(work);

	assert_int_equal(write(gate[1], "x", 1), 1);
	assert_int_equal(send("a", false, LONG_MS, &work), 0);
	assert_int_equal(discarded, 2);
	assert_true(work->done);
	free(work);
}

static int setup(void **state)
{
	(void)state;
	return pipe(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_that_returns_in_time_gives_its_work_back),
		cmocka_unit_test(a_late_call_is_discarded_when_it_returns),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
