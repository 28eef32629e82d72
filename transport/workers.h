/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_WORKERS_H
#define ZCSI_WORKERS_H

/*
 * Worker threads, on which handlers may block. Works with the same key run one at a time, in order
 * of submission. A lane runs at most a given number of its works at a time, in order of submission,
 * so that works that wait for something slow leave threads for the others. A work that waits for
 * its key or its lane occupies no thread, and one that waits for its lane is overtaken by works of
 * other lanes with its key. Loop thread only; only run() is called on a worker.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "transport/threads.h"

#define WORKERS_LANES 16 /* lanes are numbered from 0 */

struct workers;

enum work_state { WORK_AWAITS_KEY, WORK_AWAITS_LANE, WORK_STARTED };

struct work {
	const char *key;                 /* key, kept until done(); NULL: not serialised */
	unsigned lane;                   /* number of a lane, below WORKERS_LANES */
	void (*run)(struct work *work);  /* called on a worker */
	void (*done)(struct work *work); /* called on the loop after run; may free the work */

	/* Read-only for others. */
	enum work_state state;

	/* Private to workers.c from here on. */
	struct thread_task task;
	struct workers *workers;
	struct work *next;      /* next work in the queue of the lane */
	struct work *next_same; /* next work with the same key, waiting behind this one */
	struct work *next_slot; /* first work of another key in the same slot of the hash table */
	uint64_t number;        /* works are numbered in the order of their submission */
	int64_t submitted;      /* time of workers_submit, now_us() */
	int64_t ready;          /* time from which the work did not wait for its key, now_us() */
};

/* Start n_threads workers. Returns -1 with ERR_RESOURCE_EXHAUSTED if a thread cannot start. */
int workers_new(struct workers **ret, struct loop *loop, unsigned n_threads, struct error *err);
/*
 * Let at most `most` works of the lane run at a time. Without this call a lane has no bound of its
 * own. A lane is never delayed by the others if the threads are as many as all lanes may use.
 */
void workers_bound(struct workers *workers, unsigned lane, unsigned most);
/* Wait for the works that the threads have, then free. No work may be submitted any more. */
void workers_free(struct workers *workers);

/* Queue a work, whose run() and done() are called later. The caller keeps it until done(). */
void workers_submit(struct workers *workers, struct work *work);
/*
 * Withdraw a work that waits for its key or its lane. Returns true if it was withdrawn, and done()
 * will not be called; false if it has started.
 */
bool workers_withdraw(struct work *work);

#endif
