/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_WORKERS_H
#define ZCSI_WORKERS_H

/*
 * Worker threads, where handlers may block. Works with the same key run one at a time, in order
 * of submission, and one that waits for its turn occupies no thread, so a slow volume holds up
 * nobody else. Submission and completion happen on the loop; only run() is on a worker.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "transport/loop.h"

struct workers;

struct work {
	const char *key;                 /* NULL: nothing to wait for. Lives until done() */
	void (*run)(struct work *work);  /* on a worker */
	void (*done)(struct work *work); /* on the loop, once, last: may free the work */

	/* the workers' own */
	struct loop_task task;
	struct workers *workers;
	struct work *next;      /* in the run queue */
	struct work *next_same; /* waiting for this one: same key */
	struct work *next_slot; /* in the table of running keys */
	bool started;
	int64_t submitted, ready; /* when, and when its turn among the same key came; now_us() */
};

int workers_new(struct workers **ret, struct loop *loop, unsigned n_threads, struct error *err);
/* Waits for what runs. Nothing may be submitted any more. */
void workers_free(struct workers *workers);

void workers_submit(struct workers *workers, struct work *work);
/* Take back a work whose turn has not come: true, and done() will not be called. */
bool workers_withdraw(struct work *work);

#endif
