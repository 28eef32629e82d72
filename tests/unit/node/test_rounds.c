/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the threads that work in rounds: a thread that is idle waits for a change of the
 * catalog. Pauses of less than a minute pass at once, and are counted.
 */
#include "node/stream/rounds.h"

#include <errno.h>
#include <semaphore.h>

#include "common/clock.h"
#include "common/thread.h"
#include "node/catalog/catalog_inside.h"
#include "node/host/moves.h"
#include "tests/cmocka.h"

#define SHORT_MS   60000
#define WATCHED_MS 600000 /* the sum of pauses after which a test ends */
#define ROUNDS_MAX 61     /* the most rounds that fit into WATCHED_MS */

static struct node node;
static struct loop *loop;
static struct loop_task stop;
static sem_t begun;
static struct error err;
/* Written by the thread that works in rounds, read when that thread waits or has ended. */
static unsigned n_rounds;
static int64_t passed; /* the sum of the short pauses */
static bool busy;      /* the catalog changes in each pause */
static bool no_thread; /* a thread cannot be started */

typeof(catalog_pool) __wrap_catalog_pool;
typeof(thread_start) __wrap_thread_start, __real_thread_start;
typeof(pthread_cond_timedwait) __wrap_pthread_cond_timedwait, __real_pthread_cond_timedwait;

void __wrap_catalog_pool(struct catalog *catalog, struct arena *arena, struct catalog_pool *ret)
{
	(void)catalog, (void)arena;
	*ret = (struct catalog_pool){.names = 1};
}

static void change(void)
{
	scoped_lock(&node.catalog->mutex);

	catalog_changed(node.catalog);
}

static void stop_loop(struct loop_task *task)
{
	(void)task;
	loop_stop(loop);
}

static void end_soon(void)
{
	stop.fn = stop_loop;
	loop_post(loop, &stop);
}

int __wrap_thread_start(pthread_t *ret, const pthread_attr_t *attributes, void *(*fn)(void *),
			void *arg)
{
	if (!no_thread)
		return __real_thread_start(ret, attributes, fn, arg);
	errno = EAGAIN;
	return -1;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *changed, pthread_mutex_t *lock,
				  const struct timespec *until)
{
	int64_t pause = (int64_t)until->tv_sec * 1000 + until->tv_nsec / 1000000 - now_ms();

	if (pause >= SHORT_MS)
		return __real_pthread_cond_timedwait(changed, lock, until);
	passed += pause;
	if (busy && passed < WATCHED_MS)
		change();
	else if (busy)
		end_soon();
	return ETIMEDOUT;
}

/* Work a round. The second one ends the loop, on which changes of the catalog are reported. */
static int work(struct rounds *rounds, void *arg, bool asked)
{
	(void)rounds, (void)arg, (void)asked;
	if (++n_rounds == 2 && !busy)
		end_soon();
	sem_post(&begun);
	return ROUNDS_IDLE;
}

static int start(struct rounds **ret)
{
	const struct rounds_work rounds_work = {.what = "the thread of a test", .round = work};

	return rounds_start(ret, &node, loop, &rounds_work, &err);
}

static int set_up(void **state)
{
	(void)state;
	n_rounds = 0;
	passed = 0;
	busy = no_thread = false;
	sem_init(&begun, 0, 0);
	assert_int_equal(loop_new(&loop, &err), 0);
	node.catalog = catalog_new("t/p", 0);
	node.moves = moves_new();
	moves_known(node.moves);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	moves_free(node.moves);
	catalog_free(node.catalog);
	loop_free(loop);
	return 0;
}

static void an_idle_thread_waits_for_a_change(void **state)
{
	struct rounds *rounds;

	(void)state;
	assert_int_equal(start(&rounds), 0);
	sem_wait(&begun);
	change();
	change();
	loop_run(loop);
	sem_wait(&begun);
	assert_int_equal(n_rounds, 2);
	rounds_soon(rounds);
	sem_wait(&begun);
	rounds_stop(rounds);
	assert_int_equal(n_rounds, 3);
}

/* On a host with many volumes, sizes or publications change all the time. */
static void a_catalog_that_changes_steadily_makes_few_rounds(void **state)
{
	struct rounds *rounds;

	(void)state;
	busy = true;
	assert_int_equal(start(&rounds), 0);
	sem_wait(&begun);
	change();
	loop_run(loop);
	rounds_stop(rounds);
	assert_in_range(n_rounds, 2, ROUNDS_MAX);
}

/* A change is reported to no thread that could not be started. */
static void a_thread_that_cannot_be_started_gets_no_changes(void **state)
{
	struct rounds *rounds;

	(void)state;
	no_thread = true;
	assert_int_equal(start(&rounds), -1);
	change();
	rounds_stop(rounds);
	change();
	end_soon();
	loop_run(loop);
	assert_int_equal(n_rounds, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(an_idle_thread_waits_for_a_change),
		TEST(a_catalog_that_changes_steadily_makes_few_rounds),
		TEST(a_thread_that_cannot_be_started_gets_no_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
