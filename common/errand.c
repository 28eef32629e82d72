/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Errands. See errand.h.
 *
 * Invariant: at most one thread per key, so what is dead costs one thread however often it is asked
 * for. The work belongs to its thread from the start until the one who waits has taken it back,
 * which only happens while that one still waits.
 */
#include "common/errand.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/mem.h"
#include "common/thread.h"

#define STACK_BYTES (256 << 10)

struct trip {
	struct trip *next; /* while it is out */
	struct errand errand;
	char *key;
	bool back;      /* the one who waits frees it */
	bool abandoned; /* nobody waits: its thread frees it */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* all that follows, and trips */
static pthread_cond_t came_back = PTHREAD_COND_INITIALIZER;
static struct trip *out;

static void free_trip(struct trip *trip)
{
	free(trip->key);
	free(trip);
}

static bool is_out(const char *key)
{
	for (const struct trip *trip = out; trip; trip = trip->next)
		if (!strcmp(trip->key, key))
			return true;
	return false;
}

static void take_out(const struct trip *trip)
{
	struct trip **link = &out;

	while (*link != trip)
		link = &(*link)->next;
	*link = trip->next;
}

/* Once it is back, nobody abandons it. */
static bool come_back(struct trip *trip)
{
	auto_unlock pthread_mutex_t *held = lock_take(&mutex);

	if (trip->abandoned)
		return false;
	trip->back = true;
	take_out(trip);
	pthread_cond_broadcast(&came_back);
	return true;
}

/* It is undone before its key is free for the next. */
static void come_too_late(struct trip *trip)
{
	trip->errand.discard(trip->errand.work);
	auto_unlock pthread_mutex_t *held = lock_take(&mutex);

	take_out(trip);
	free_trip(trip);
	pthread_cond_broadcast(&came_back);
}

static void *travel(void *arg)
{
	struct trip *trip = arg;

	pthread_setname_np(pthread_self(), trip->errand.thread);
	trip->errand.run(trip->errand.work);
	if (!come_back(trip))
		come_too_late(trip);
	return NULL;
}

static int start_thread(struct trip *trip)
{
	pthread_attr_t detached;
	pthread_t thread;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&detached, STACK_BYTES);
	int error = thread_start(&thread, &detached, travel, trip) < 0 ? errno : 0;
	pthread_attr_destroy(&detached);
	return error;
}

/* With the mutex; 0 or ETIMEDOUT. */
static int wait_until(int64_t deadline)
{
	struct timespec until = {.tv_sec = deadline / 1000, .tv_nsec = deadline % 1000 * 1000000};

	return pthread_cond_clockwait(&came_back, &mutex, CLOCK_MONOTONIC, &until);
}

/* With the mutex. */
static int start(const struct errand *errand, int64_t deadline, struct trip **ret)
{
	int error = 0;

	while (is_out(errand->key) && !error)
		error = wait_until(deadline);
	if (is_out(errand->key))
		return error;
	struct trip *trip = mem_alloc(sizeof(*trip));
	*trip = (struct trip){.next = out, .errand = *errand, .key = mem_strdup(errand->key)};
	error = start_thread(trip);
	if (error) {
		free_trip(trip);
		return error;
	}
	*ret = out = trip;
	return 0;
}

/* With the mutex. */
static int await(struct trip *trip, int64_t deadline)
{
	int error = 0;

	while (!trip->back && error != ETIMEDOUT)
		error = wait_until(deadline);
	if (!trip->back) {
		trip->abandoned = true;
		return ETIMEDOUT;
	}
	free_trip(trip);
	return 0;
}

int errand_run(const struct errand *errand, int64_t deadline)
{
	struct trip *trip = NULL;

	pthread_mutex_lock(&mutex);
	int error = start(errand, deadline, &trip);
	bool started = trip != NULL;
	if (started)
		error = await(trip, deadline);
	pthread_mutex_unlock(&mutex);
	if (!started)
		errand->discard(errand->work);
	return error;
}
