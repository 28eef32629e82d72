/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Running a function in the queue of the calls for a volume.
 *
 * Invariant: the work is on the caller's stack, so the caller waits until the loop has let go of
 * it.
 */
#include "node/stream/keyed.h"

#include <errno.h>
#include <semaphore.h>

#include "common/mem.h"
#include "node/service.h"
#include "transport/loop.h"
#include "transport/workers.h"

struct keyed {
	struct loop_task task;
	struct work work;
	struct workers *workers;
	void (*fn)(void *arg);
	void *arg;
	sem_t done;
};

static void run(struct work *work)
{
	const struct keyed *keyed = container_of(work, struct keyed, work);

	keyed->fn(keyed->arg);
}

static void done(struct work *work)
{
	sem_post(&container_of(work, struct keyed, work)->done);
}

static void submit(struct loop_task *task)
{
	struct keyed *keyed = container_of(task, struct keyed, task);

	workers_submit(keyed->workers, &keyed->work);
}

void keyed_run(struct copies *copies, const char *id, void (*fn)(void *arg), void *arg)
{
	struct keyed keyed = {
		.task.fn = submit,
		.work = {.key = id, .lane = LANE_COPY, .run = run, .done = done},
		.workers = copies->workers,
		.fn = fn,
		.arg = arg,
	};

	sem_init(&keyed.done, 0, 0);
	loop_post(copies->loop, &keyed.task);
	while (sem_wait(&keyed.done) < 0 && errno == EINTR)
		;
	sem_destroy(&keyed.done);
}
