/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_LOOPER_H
#define ZCSI_TEST_LOOPER_H

/* A loop in a thread of its own, so that a test can be server, client and caller at once. */

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "transport/loop.h"

#define PATIENCE 120 /* timeout of any wait in seconds; reached only by a failure */

struct looper {
	struct loop *loop;
	pthread_t thread;
};

static inline void wait_for_what(sem_t *semaphore, const char *what, const char *file, int line)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE;
	if (sem_timedwait(semaphore, &end) == 0)
		return;
	fprintf(stderr, "%s:%d: %s: not within %d s\n", file, line, what, PATIENCE);
	abort();
}

#define wait_for(semaphore) wait_for_what(semaphore, #semaphore, __FILE__, __LINE__)

static inline void *looper_run(void *loop)
{
	loop_run(loop);
	return NULL;
}

static inline void looper_start(struct looper *looper)
{
	if (pthread_create(&looper->thread, NULL, looper_run, looper->loop) != 0)
		abort();
}

/* Stop the loop; a callback for looper_do() and server_drain(). */
static inline void looper_stop(void *loop)
{
	loop_stop(loop);
}

struct looper_task {
	struct loop_task task;
	void (*fn)(void *arg);
	void *arg;
	sem_t ran;
};

static inline void looper_on_task(struct loop_task *task)
{
	struct looper_task *it = (struct looper_task *)task;

	it->fn(it->arg);
	sem_post(&it->ran);
}

/* Run fn(arg) on the loop and wait until it has returned. */
static inline void looper_do(struct looper *looper, void (*fn)(void *arg), void *arg)
{
	struct looper_task it = {.task.fn = looper_on_task, .fn = fn, .arg = arg};

	sem_init(&it.ran, 0, 0);
	loop_post(looper->loop, &it.task);
	wait_for(&it.ran);
}

#endif
