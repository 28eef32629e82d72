/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Lookups of host names. Each lookup has a thread, or waits for one while THREADS_MAX threads run.
 *
 * Invariant: a lookup is in the queue until a thread takes it. The thread owns the lookup until it
 * posts the lookup to the loop or, if the lookup was cancelled meanwhile, frees it. So a name
 * server that never answers blocks one thread, and no caller.
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
	struct addresses addresses; /* addresses found; if none, error has the reason */
	struct error error;
	struct lookup *next; /* next lookup in the queue */
	bool begun, posted, cancelled;
};

/* Guards the queue, n_threads, and begun, posted and cancelled of each lookup. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct lookup *first, **last = &first; /* queue of the lookups that no thread has begun */
static unsigned n_threads;

static void report(struct loop_task *task)
{
	struct lookup *lookup = container_of(task, struct lookup, task);

	if (!lookup->cancelled)
		lookup->found(lookup->arg, &lookup->addresses, &lookup->error);
	free(lookup);
}

static void enqueue(struct lookup *lookup)
{
	lookup->next = NULL;
	*last = lookup;
	last = &lookup->next;
}

static void dequeue(struct lookup *lookup)
{
	struct lookup **at = &first;

	while (*at != lookup)
		at = &(*at)->next;
	*at = lookup->next;
	if (!*at)
		last = at;
}

static void look_up(struct lookup *lookup)
{
	int n = endpoint_resolve(&lookup->endpoint, lookup->addresses.list, ADDRESSES_MAX,
				 &lookup->error);

	lookup->addresses.n = n < 0 ? 0 : (unsigned)n;
}

/*
 * Called with mutex locked, so that the loop still exists: the owner of the loop cancels its
 * lookups, which needs mutex, before it frees the loop.
 */
static void end(struct lookup *lookup)
{
	lookup->posted = !lookup->cancelled;
	if (lookup->posted)
		loop_post(lookup->loop, &lookup->task);
	else
		free(lookup);
}

/* Look up names until none waits. */
static void *work(void *arg)
{
	scoped_lock(&mutex);

	(void)arg;
	while (first) {
		struct lookup *lookup = first;
		dequeue(lookup);
		lookup->begun = true;
		pthread_mutex_unlock(&mutex);
		look_up(lookup);
		pthread_mutex_lock(&mutex);
		end(lookup);
	}
	n_threads--;
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
	enqueue(lookup);
	if (n_threads < THREADS_MAX && thread_start_detached(work, NULL) == 0)
		n_threads++;
	if (n_threads)
		return lookup;
	dequeue(lookup);
	free(lookup);
	return NULL;
}

void lookup_cancel(struct lookup *lookup)
{
	if (!lookup)
		return;
	scoped_lock(&mutex);
	lookup->cancelled = true;
	/* A task that the loop has taken already is still called, and frees the lookup. */
	if (!lookup->begun)
		dequeue(lookup);
	if (!lookup->begun || (lookup->posted && loop_withdraw(lookup->loop, &lookup->task)))
		free(lookup);
}
