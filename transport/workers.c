/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Decides which work may run: keys serialise works, and lanes bound their number. threads.c runs
 * the works.
 *
 * The first work of a key is in a hash table; other works with the same key are queued behind it.
 * When it is done, the next one replaces it in the table. The first work of a key, or one without a
 * key, is started if its lane has room, else it waits in the queue of the lane.
 *
 * Invariant: a work that waits for its lane does not keep its key from a new work whose lane has
 * room. Only count_wait and work->run run on another thread than the loop's.
 */
#include "transport/workers.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/hash.h"
#include "common/mem.h"
#include "transport/metrics.h"

#define SLOTS 256

struct lane {
	unsigned most; /* works that may run at a time; 0: any number */
	unsigned running;
	struct work *first, *last; /* works that wait for the lane, by their number */
};

struct workers {
	struct threads *threads;
	struct lane lanes[WORKERS_LANES];
	uint64_t n_submitted;
	struct work *slots[SLOTS]; /* the first works of keys, by their hash */
};

static struct work **slot_of(struct workers *workers, const char *key)
{
	struct work **slot = &workers->slots[hash_text(HASH_START, key) % SLOTS];

	while (*slot && strcmp((*slot)->key, key) != 0)
		slot = &(*slot)->next_slot;
	return slot;
}

static struct lane *lane_of(struct work *work)
{
	return &work->workers->lanes[work->lane];
}

static bool has_room(const struct lane *lane)
{
	return !lane->most || lane->running < lane->most;
}

static void on_ran(struct loop_task *task);

static void count_wait(const struct work *work)
{
	metrics_queue_wait(now_us() - work->submitted);
	if (work->key)
		metrics_key_wait(work->ready - work->submitted);
}

static void run(struct thread_task *task)
{
	struct work *work = container_of(task, struct work, task);

	count_wait(work);
	work->run(work);
}

static void start(struct work *work)
{
	lane_of(work)->running++;
	work->state = WORK_STARTED;
	work->task = (struct thread_task){.run = run, .done.fn = on_ran};
	threads_run(work->workers->threads, &work->task);
}

static void join_queue(struct lane *lane, struct work *work)
{
	struct work **link = &lane->first;

	if (lane->last && lane->last->number < work->number)
		link = &lane->last->next;
	while (*link && (*link)->number < work->number)
		link = &(*link)->next;
	work->next = *link;
	*link = work;
	if (!work->next)
		lane->last = work;
}

static void leave_queue(struct lane *lane, const struct work *work)
{
	struct work **link = &lane->first, *before = NULL;

	while (*link != work) {
		before = *link;
		link = &before->next;
	}
	*link = work->next;
	if (lane->last == work)
		lane->last = before;
}

/* Start a work that waits for no other with its key, or let it wait for its lane. */
static void enter_lane(struct work *work)
{
	struct lane *lane = lane_of(work);

	work->ready = now_us();
	if (has_room(lane)) {
		start(work);
		return;
	}
	work->state = WORK_AWAITS_LANE;
	join_queue(lane, work);
}

static void leave_lane(struct lane *lane)
{
	struct work *next = lane->first;

	lane->running--;
	if (!next || !has_room(lane))
		return;
	leave_queue(lane, next);
	start(next);
}

/* Replace the first work of a key by the next one with the same key, or remove it. */
static void release_key(struct work *work)
{
	struct work **slot = slot_of(work->workers, work->key);
	struct work *next = work->next_same;

	if (!next) {
		*slot = work->next_slot;
		return;
	}
	next->next_slot = work->next_slot;
	*slot = next;
	enter_lane(next);
}

static void on_ran(struct loop_task *task)
{
	struct work *work = container_of(task, struct work, task.done);

	leave_lane(lane_of(work));
	if (work->key)
		release_key(work);
	work->done(work);
}

int workers_new(struct workers **ret, struct loop *loop, unsigned n_threads, struct error *err)
{
	struct workers *workers = mem_alloc(sizeof(*workers));

	if (threads_new(&workers->threads, loop, n_threads, err) < 0) {
		free(workers);
		return -1;
	}
	*ret = workers;
	return 0;
}

void workers_free(struct workers *workers)
{
	if (!workers)
		return;
	threads_free(workers->threads);
	free(workers);
}

void workers_bound(struct workers *workers, unsigned lane, unsigned most)
{
	workers->lanes[lane].most = most;
}

/* Start a work ahead of the first work of its key, which waits for its lane. */
static void overtake(struct work **slot, struct work *work)
{
	struct work *first = *slot;

	leave_queue(lane_of(first), first);
	first->state = WORK_AWAITS_KEY;
	work->next_same = first;
	work->next_slot = first->next_slot;
	*slot = work;
	enter_lane(work);
}

static void queue_behind(struct work *first, struct work *work)
{
	while (first->next_same)
		first = first->next_same;
	first->next_same = work;
	work->state = WORK_AWAITS_KEY;
}

void workers_submit(struct workers *workers, struct work *work)
{
	work->workers = workers;
	work->number = workers->n_submitted++;
	work->submitted = now_us();
	work->next_same = work->next_slot = NULL;
	if (!work->key) {
		enter_lane(work);
		return;
	}
	struct work **slot = slot_of(workers, work->key);
	if (!*slot) {
		*slot = work;
		enter_lane(work);
	} else if ((*slot)->state == WORK_AWAITS_LANE && has_room(lane_of(work))) {
		overtake(slot, work);
	} else {
		queue_behind(*slot, work);
	}
}

bool workers_withdraw(struct work *work)
{
	if (work->state == WORK_STARTED)
		return false;
	if (work->state == WORK_AWAITS_LANE) {
		leave_queue(lane_of(work), work);
		if (work->key)
			release_key(work);
		return true;
	}
	struct work **link = slot_of(work->workers, work->key);
	while (*link && *link != work)
		link = &(*link)->next_same;
	*link = work->next_same;
	return true;
}
