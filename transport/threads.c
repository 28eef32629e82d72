/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Threads and the queue of the tasks that they run.
 *
 * Tasks that are added in one turn of the loop are passed to the threads at its end, and a thread
 * that leaves a task in the queue wakes the next thread: waking a thread for each task takes longer
 * than most tasks run.
 *
 * Invariant: the lock guards the queue and stopping; the tasks of this turn belong to the loop
 * thread.
 */
#include "transport/threads.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/mem.h"
#include "common/thread.h"

#define STACK_SIZE ((size_t)256 * 1024)

struct threads {
	struct loop *loop;
	struct thread_task *added, **last_added; /* tasks of this turn */
	struct loop_timer *turn;                 /* runs hand_out at the end of the turn */

	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct thread_task *first, **last;
	bool stopping;

	unsigned n;
	pthread_t ids[];
};

static void hand_out(void *arg)
{
	struct threads *threads = arg;
	scoped_lock(&threads->lock);

	*threads->last = threads->added;
	threads->last = threads->last_added;
	threads->added = NULL;
	threads->last_added = &threads->added;
	pthread_cond_signal(&threads->wake);
}

void threads_run(struct threads *threads, struct thread_task *task)
{
	task->next = NULL;
	*threads->last_added = task;
	threads->last_added = &task->next;
	loop_timer_soon(threads->turn);
}

/* Returns the next task, or NULL when the threads are to end and there is none. */
static struct thread_task *next_task(struct threads *threads)
{
	scoped_lock(&threads->lock);

	while (!threads->first && !threads->stopping)
		pthread_cond_wait(&threads->wake, &threads->lock);
	struct thread_task *task = threads->first;
	if (task) {
		threads->first = task->next;
		if (threads->first)
			pthread_cond_signal(&threads->wake);
		else
			threads->last = &threads->first;
	}
	return task;
}

static void *run_tasks(void *arg)
{
	struct threads *threads = arg;
	struct thread_task *task;

	while ((task = next_task(threads))) {
		task->run(task);
		loop_post(threads->loop, &task->done);
	}
	return NULL;
}

static int start(struct threads *threads, unsigned n)
{
	pthread_attr_t attributes;
	int result = 0;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	while (result == 0 && threads->n < n) {
		result = thread_start(&threads->ids[threads->n], &attributes, run_tasks, threads);
		threads->n += result == 0;
	}
	pthread_attr_destroy(&attributes);
	return result;
}

int threads_new(struct threads **ret, struct loop *loop, unsigned n, struct error *err)
{
	struct threads *threads = mem_alloc(sizeof(*threads) + n * sizeof(pthread_t));

	threads->loop = loop;
	threads->last = &threads->first;
	threads->last_added = &threads->added;
	threads->turn = loop_timer_new(loop, hand_out, threads);
	pthread_mutex_init(&threads->lock, NULL);
	pthread_cond_init(&threads->wake, NULL);
	if (start(threads, n) != 0) {
		threads_free(threads);
		return fail(err, ERR_RESOURCE_EXHAUSTED, "cannot start %u worker threads", n);
	}
	*ret = threads;
	return 0;
}

static void stop(struct threads *threads)
{
	scoped_lock(&threads->lock);

	threads->stopping = true;
	pthread_cond_broadcast(&threads->wake);
}

void threads_free(struct threads *threads)
{
	if (!threads)
		return;
	stop(threads);
	for (unsigned i = 0; i < threads->n; i++)
		pthread_join(threads->ids[i], NULL);
	loop_timer_free(threads->turn);
	pthread_cond_destroy(&threads->wake);
	pthread_mutex_destroy(&threads->lock);
	free(threads);
}
