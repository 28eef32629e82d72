/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The herald's thread.
 *
 * Invariant: the first round begins as soon as the volumes are known, because none with copies is
 * usable after a boot before it.
 */
#include "node/owner/herald.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "common/clock.h"
#include "common/thread.h"
#include "node/catalog/catalog.h"
#include "node/host/moves.h"
#include "node/host/owner.h"
#include "node/owner/beat.h"

#define BEAT_S  30
#define HURRY_S 2 /* while a volume waits for its nodes */
#define PAUSE_S 1 /* at the start, until all volumes are known */

struct herald {
	const struct node *node;
	struct loop *loop;
	struct loop_task task;
	pthread_t thread;
	bool started;

	pthread_mutex_t lock;
	pthread_cond_t changed; /* with the lock: stopping is true */
	_Atomic bool stopping;
};

/* Returns true if all volumes are known, and which of them move. */
static bool is_ready(const struct herald *herald)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct catalog_pool pool;
	struct error err;

	catalog_pool(herald->node->catalog, &arena, &pool);
	return pool.names && moves_wait(herald->node->moves, now_ms(), &err) == 0;
}

/* Wait for so many seconds at most. The caller has the lock, which is released meanwhile. */
static void wait_for(struct herald *herald, int seconds)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += seconds;
	pthread_cond_timedwait(&herald->changed, &herald->lock, &until);
}

static void stop_loop(struct loop_task *task)
{
	loop_stop(container_of(task, struct herald, task)->loop);
}

static void *run(void *arg)
{
	struct herald *herald = arg;
	scoped_lock(&herald->lock);

	while (!herald->stopping && !is_ready(herald))
		wait_for(herald, PAUSE_S);
	while (!herald->stopping) {
		pthread_mutex_unlock(&herald->lock);
		bool open = beat_all(herald->node, &herald->stopping);
		owners_asked(herald->node->owners);
		pthread_mutex_lock(&herald->lock);
		if (!herald->stopping)
			wait_for(herald, open ? HURRY_S : BEAT_S);
	}
	herald->task.fn = stop_loop;
	loop_post(herald->loop, &herald->task);
	return NULL;
}

int herald_start(struct herald **ret, const struct node *node, struct loop *loop, struct error *err)
{
	struct herald *herald = *ret = mem_alloc(sizeof(*herald));
	pthread_condattr_t clock;

	*herald = (struct herald){.node = node, .loop = loop};
	pthread_mutex_init(&herald->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&herald->changed, &clock);
	pthread_condattr_destroy(&clock);
	if (thread_start(&herald->thread, NULL, run, herald) < 0)
		return fail_errno(err, "cannot start the thread that tells nodes with copies");
	herald->started = true;
	return 0;
}

void herald_stop(struct herald *herald)
{
	if (!herald)
		return;
	pthread_mutex_lock(&herald->lock);
	herald->stopping = true;
	pthread_cond_broadcast(&herald->changed);
	pthread_mutex_unlock(&herald->lock);
	if (herald->started) {
		loop_run(herald->loop);
		pthread_join(herald->thread, NULL);
	}
	pthread_cond_destroy(&herald->changed);
	pthread_mutex_destroy(&herald->lock);
	free(herald);
}
