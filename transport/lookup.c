/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Lookups of host names.
 *
 * Invariant: the thread owns a lookup until it has posted it to the loop, or, if it was cancelled
 * before that, frees it. So a name server that never answers costs one thread, and no caller.
 */
#include "transport/lookup.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/mem.h"
#include "common/thread.h"

#define THREADS_MAX 64

struct lookup {
	struct endpoint endpoint;
	struct loop *loop;
	struct loop_task task;
	void (*found)(void *arg, const struct addresses *addresses, const struct error *err);
	void *arg;
	struct addresses addresses; /* none: error has the reason */
	struct error error;
	bool posted, cancelled;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards posted, cancelled, n_threads */
static unsigned n_threads;

static void report(struct loop_task *task)
{
	struct lookup *lookup = container_of(task, struct lookup, task);

	if (!lookup->cancelled)
		lookup->found(lookup->arg, &lookup->addresses, &lookup->error);
	free(lookup);
}

static void *look_up(void *arg)
{
	struct lookup *lookup = arg;
	int n = endpoint_resolve(&lookup->endpoint, lookup->addresses.list, ADDRESSES_MAX,
				 &lookup->error);
	scoped_lock(&mutex);

	n_threads--;
	lookup->addresses.n = n < 0 ? 0 : (unsigned)n;
	lookup->posted = !lookup->cancelled;
	/* With the lock, so that the loop lives: its owner cancels before it frees the loop. */
	if (lookup->posted)
		loop_post(lookup->loop, &lookup->task);
	else
		free(lookup);
	return NULL;
}

struct lookup *lookup_begin(struct loop *loop, const struct endpoint *endpoint,
			    void (*found)(void *arg, const struct addresses *addresses,
					  const struct error *err),
			    void *arg)
{
	struct lookup *lookup = mem_alloc(sizeof(*lookup));
	scoped_lock(&mutex);

	*lookup = (struct lookup){.endpoint = *endpoint, .loop = loop, .found = found, .arg = arg};
	lookup->task.fn = report;
	if (n_threads == THREADS_MAX || thread_start_detached(look_up, lookup) < 0) {
		free(lookup);
		return NULL;
	}
	n_threads++;
	return lookup;
}

void lookup_cancel(struct lookup *lookup)
{
	if (!lookup)
		return;
	scoped_lock(&mutex);
	lookup->cancelled = true;
	/* A task that the loop has taken already is still called, and frees the lookup. */
	if (lookup->posted && loop_withdraw(lookup->loop, &lookup->task))
		free(lookup);
}
