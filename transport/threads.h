/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_THREADS_H
#define ZCSI_THREADS_H

/*
 * Threads that run tasks from one queue, in the order in which they were added. Loop thread only;
 * only run() is called on another thread.
 */

#include "common/error.h"
#include "transport/loop.h"

struct threads;

struct thread_task {
	void (*run)(struct thread_task *task); /* called on a thread */
	struct loop_task done;                 /* runs on the loop after run(); may free the task */
	struct thread_task *next;              /* private to threads.c */
};

/* Start n threads. Returns -1 with ERR_RESOURCE_EXHAUSTED if one cannot start. */
int threads_new(struct threads **ret, struct loop *loop, unsigned n, struct error *err);
/* Wait for the tasks that were passed to the threads, then free. Does nothing for NULL. */
void threads_free(struct threads *threads);
/* Run a task. It is passed to the threads at the end of this turn of the loop. */
void threads_run(struct threads *threads, struct thread_task *task);

#endif
