/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_WORKERS_H
#define ZCSI_WORKERS_H

/*
 * Worker threads, on which handlers may block. Works with the same key run one at a time, in order
 * of submission. A work that waits for its key occupies no thread, so a slow volume does not delay
 * others. Loop thread only; only run() is called on a worker.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "transport/loop.h"

struct workers;

struct work {
	const char *key;                 /* NULL: not serialised. Must live until done() */
	void (*run)(struct work *work);  /* called on a worker */
	void (*done)(struct work *work); /* called on the loop after run; may free the work */

	/* Private to workers.c from here on. */
	struct loop_task task;
	struct workers *workers;
	struct work *next;      /* next in the run queue */
	struct work *next_same; /* next work with the same key, waiting behind this one */
	struct work *next_slot; /* next running work in the same slot of the hash table */
	bool started;           /* true once the work waits for no other with its key */
	int64_t submitted;      /* time of workers_submit, now_us() */
	int64_t ready;          /* time at which the work was started, now_us() */
};

/* Start n_threads workers. Returns -1 with ERR_RESOURCE_EXHAUSTED if a thread cannot start. */
int workers_new(struct workers **ret, struct loop *loop, unsigned n_threads, struct error *err);
/* Wait for the works in the run queue to end, then free. No work may be submitted any more. */
void workers_free(struct workers *workers);

/* Queue a work, whose run() and done() are called later. The caller keeps it until done(). */
void workers_submit(struct workers *workers, struct work *work);
/*
 * Withdraw a work that waits behind another with its key. Returns true if it was withdrawn, and
 * done() will not be called; false if it has started or has no other before it.
 */
bool workers_withdraw(struct work *work);

#endif
