/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A thread that works in rounds.
 *
 * Invariant: no request for a round is lost: a request during a round leads to another round.
 */
#include "node/stream/rounds.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "common/clock.h"
#include "common/thread.h"
#include "node/catalog/catalog.h"
#include "node/catalog/listener.h"
#include "node/host/moves.h"

#define PAUSE_S  1 /* at the start, between checks whether all volumes are known */
#define IDLE_S   600
#define SETTLE_S 10 /* after a change of the catalog, since other changes may follow */

struct rounds {
	const struct node *node;
	struct loop *loop;
	struct loop_task task;
	struct rounds_work work;
	struct catalog_listener listener;
	pthread_t thread;
	bool started;

	pthread_mutex_t lock; /* protects all members below */
	pthread_cond_t changed;
	bool stopping, asked;
	bool idle, differs; /* the catalog has changed since the last round began */
};

bool rounds_stopping(struct rounds *rounds)
{
	scoped_lock(&rounds->lock);

	return rounds->stopping;
}

/* Returns true if all volumes of this host are known, and if it is known which of them move. */
static bool is_ready(const struct rounds *rounds)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct catalog_pool pool;
	struct error err;

	catalog_pool(rounds->node->catalog, &arena, &pool);
	return pool.names && moves_wait(rounds->node->moves, now_ms(), &err) == 0;
}

/* Wait for `seconds` at most. The caller has the lock, which is released meanwhile. */
static void wait_for(struct rounds *rounds, int seconds)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += seconds;
	pthread_cond_timedwait(&rounds->changed, &rounds->lock, &until);
}

/* Wait while nothing is to be done. The caller has the lock, which is released meanwhile. */
static void wait_idle(struct rounds *rounds)
{
	rounds->idle = true;
	if (!rounds->differs)
		wait_for(rounds, IDLE_S);
	rounds->idle = false;
	if (rounds->differs && !rounds->asked && !rounds->stopping)
		wait_for(rounds, SETTLE_S);
}

static void on_change(struct catalog_listener *listener)
{
	struct rounds *rounds = container_of(listener, struct rounds, listener);
	scoped_lock(&rounds->lock);

	rounds->differs = true;
	if (rounds->idle)
		pthread_cond_broadcast(&rounds->changed);
}

static void stop_loop(struct loop_task *task)
{
	loop_stop(container_of(task, struct rounds, task)->loop);
}

/* Have the loop end, after all tasks that were posted before. */
static void end_loop(struct rounds *rounds)
{
	rounds->task.fn = stop_loop;
	loop_post(rounds->loop, &rounds->task);
}

static void *run(void *arg)
{
	struct rounds *rounds = arg;
	scoped_lock(&rounds->lock);

	while (!rounds->stopping && !is_ready(rounds))
		wait_for(rounds, PAUSE_S);
	if (!rounds->asked && !rounds->stopping && rounds->work.first_s)
		wait_for(rounds, rounds->work.first_s);
	for (bool asked = true; !rounds->stopping; asked = rounds->asked) {
		rounds->asked = rounds->differs = false;
		pthread_mutex_unlock(&rounds->lock);
		int pause = rounds->work.round(rounds, rounds->work.arg, asked);
		pthread_mutex_lock(&rounds->lock);
		if (rounds->asked || rounds->stopping)
			continue;
		if (pause == ROUNDS_IDLE)
			wait_idle(rounds);
		else
			wait_for(rounds, pause);
	}
	end_loop(rounds);
	return NULL;
}

int rounds_start(struct rounds **ret, const struct node *node, struct loop *loop,
		 const struct rounds_work *work, struct error *err)
{
	struct rounds *rounds = *ret = mem_alloc(sizeof(*rounds));
	pthread_condattr_t clock;

	*rounds = (struct rounds){.node = node, .loop = loop, .work = *work};
	pthread_mutex_init(&rounds->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&rounds->changed, &clock);
	pthread_condattr_destroy(&clock);
	catalog_listen(node->catalog, &rounds->listener, loop, on_change);
	if (thread_start(&rounds->thread, NULL, run, rounds) < 0)
		return fail_errno(err, "cannot start %s", work->what);
	rounds->started = true;
	return 0;
}

static void wake(struct rounds *rounds, bool *flag)
{
	scoped_lock(&rounds->lock);

	*flag = true;
	pthread_cond_broadcast(&rounds->changed);
}

void rounds_soon(struct rounds *rounds)
{
	wake(rounds, &rounds->asked);
}

void rounds_stop(struct rounds *rounds)
{
	if (!rounds)
		return;
	catalog_unlisten(rounds->node->catalog, &rounds->listener);
	wake(rounds, &rounds->stopping);
	if (!rounds->started)
		end_loop(rounds);
	loop_run(rounds->loop);
	if (rounds->started)
		pthread_join(rounds->thread, NULL);
	pthread_cond_destroy(&rounds->changed);
	pthread_mutex_destroy(&rounds->lock);
	free(rounds);
}
