/* SPDX-License-Identifier: MPL-2.0 */
/*
 * System calls with a deadline, each on a thread of its own. See bounded_call.h.
 *
 * Invariant: at most one thread per key, so a mount or server that does not answer ties up one
 * thread, however often it is called. The thread owns the work while it runs. If it ends in time,
 * the caller owns the work again; otherwise the thread discards it.
 */
#include "common/bounded_call.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/mem.h"
#include "common/thread.h"

struct running {
	struct running *next; /* next running call in list */
	struct bounded_call call;
	char *key;
	bool done;      /* the call ended in time; the caller, which waits, frees this */
	bool abandoned; /* the caller timed out; the thread frees this when the call ends */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards list and its members */
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static struct running *list;

static void free_running(struct running *running)
{
	free(running->key);
	free(running);
}

static bool is_running(const char *key)
{
	for (const struct running *running = list; running; running = running->next)
		if (!strcmp(running->key, key))
			return true;
	return false;
}

static void unlink_running(const struct running *running)
{
	struct running **link = &list;

	while (*link != running)
		link = &(*link)->next;
	*link = running->next;
}

/* Report the end of a call to its caller. Returns false if the caller has timed out. */
static bool finish(struct running *running)
{
	scoped_lock(&mutex);

	if (running->abandoned)
		return false;
	running->done = true;
	unlink_running(running);
	pthread_cond_broadcast(&finished);
	return true;
}

/* Discard the work of a call that ended after its timeout, then release its key. */
static void finish_late(struct running *running)
{
	running->call.discard(running->call.work);
	scoped_lock(&mutex);

	unlink_running(running);
	free_running(running);
	pthread_cond_broadcast(&finished);
}

static void *run_thread(void *arg)
{
	struct running *running = arg;

	pthread_setname_np(pthread_self(), running->call.thread);
	running->call.run(running->call.work);
	if (!finish(running))
		finish_late(running);
	return NULL;
}

/* Wait until any call ends. Returns 0 or ETIMEDOUT. The caller holds the mutex. */
static int wait_until(int64_t deadline)
{
	struct timespec until = {.tv_sec = deadline / 1000, .tv_nsec = deadline % 1000 * 1000000};

	return pthread_cond_clockwait(&finished, &mutex, CLOCK_MONOTONIC, &until);
}

/*
 * Wait for the key, then start the thread of a call. Returns 0 with *ret, or an errno. The caller
 * holds the mutex.
 */
static int start(const struct bounded_call *call, int64_t deadline, struct running **ret)
{
	int error = 0;

	while (is_running(call->key) && !error)
		error = wait_until(deadline);
	if (is_running(call->key))
		return error;
	struct running *running = mem_alloc(sizeof(*running));
	*running = (struct running){.next = list, .call = *call, .key = mem_strdup(call->key)};
	error = thread_start_detached(run_thread, running) < 0 ? errno : 0;
	if (error) {
		free_running(running);
		return error;
	}
	*ret = list = running;
	return 0;
}

/* Wait for the end of a call. Returns 0, or ETIMEDOUT. The caller holds the mutex. */
static int await(struct running *running, int64_t deadline)
{
	int error = 0;

	while (!running->done && error != ETIMEDOUT)
		error = wait_until(deadline);
	if (!running->done) {
		running->abandoned = true;
		return ETIMEDOUT;
	}
	free_running(running);
	return 0;
}

/* Start a call and wait for its end. Returns 0 or an errno; *ret_started is true if it started. */
static int start_and_await(const struct bounded_call *call, int64_t deadline, bool *ret_started)
{
	struct running *running = NULL;
	scoped_lock(&mutex);

	int error = start(call, deadline, &running);
	*ret_started = running != NULL;
	return running ? await(running, deadline) : error;
}

int bounded_call_run(const struct bounded_call *call, int64_t deadline)
{
	bool started;
	int error = start_and_await(call, deadline, &started);

	if (!started)
		call->discard(call->work);
	return error;
}
