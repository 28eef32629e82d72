/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the threads that work in rounds: one that has nothing to do waits for a change.
 */
#include "node/stream/rounds.h"

#include <semaphore.h>

#include "node/catalog/catalog_inside.h"
#include "node/host/moves.h"
#include "tests/cmocka.h"

static struct node node;
static struct loop *loop;
static struct loop_task stop;
static sem_t begun;
static unsigned n_rounds; /* written by the thread, read when it waits or has ended */

void __wrap_catalog_pool(struct catalog *catalog, struct arena *arena, struct catalog_pool *ret);
void __wrap_catalog_pool(struct catalog *catalog, struct arena *arena, struct catalog_pool *ret)
{
	(void)catalog, (void)arena;
	*ret = (struct catalog_pool){.names = 1};
}

static void stop_loop(struct loop_task *task)
{
	(void)task;
	loop_stop(loop);
}

/* The second round ends the loop, on which the thread is told of changes. */
static int work(struct rounds *rounds, void *arg, bool asked)
{
	(void)rounds, (void)arg, (void)asked;
	stop.fn = stop_loop;
	if (++n_rounds == 2)
		loop_post(loop, &stop);
	sem_post(&begun);
	return ROUNDS_IDLE;
}

static void change(void)
{
	scoped_lock(&node.catalog->mutex);

	catalog_changed(node.catalog);
}

static void an_idle_thread_waits_for_a_change(void **state)
{
	const struct rounds_work rounds_work = {.what = "the thread of a test", .round = work};
	struct rounds *rounds;
	struct error err;

	(void)state;
	sem_init(&begun, 0, 0);
	assert_int_equal(loop_new(&loop, &err), 0);
	node.catalog = catalog_new("t/p", 0);
	node.moves = moves_new();
	moves_known(node.moves);
	assert_int_equal(rounds_start(&rounds, &node, loop, &rounds_work, &err), 0);
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
	moves_free(node.moves);
	catalog_free(node.catalog);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_idle_thread_waits_for_a_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
