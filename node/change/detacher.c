/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The volumes that are detached from their origins, or wait for it, and how the last ones ended.
 *
 * Invariant: a volume is closed for other calls exactly as long as it waits or is being detached.
 * But a volume that lost its dataset between two renames stays closed until zcsi-node ends.
 */
#include "node/change/detacher.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "node/change/detach_run.h"
#include "node/host/moves.h"
#include "node/stream/own_call.h"
#include "node/stream/rounds.h"

#define PAUSE_S   3600
#define TASKS_MAX 64 /* most detaches in the list, including those that have ended */

struct task {
	char *id;
	bool ended;
	struct error error;
};

struct detacher {
	const struct node *node;
	struct rounds *rounds;

	pthread_mutex_t lock;         /* protects `tasks` and `n` */
	struct task tasks[TASKS_MAX]; /* the detaches, oldest first */
	size_t n;
};

/* The list of tasks. The caller has the lock. */

static struct task *find(struct detacher *detacher, const char *id)
{
	for (size_t i = 0; i < detacher->n; i++)
		if (strcmp(detacher->tasks[i].id, id) == 0)
			return &detacher->tasks[i];
	return NULL;
}

static void forget(struct detacher *detacher, struct task *task)
{
	free(task->id);
	memmove(task, task + 1, (size_t)(&detacher->tasks[--detacher->n] - task) * sizeof(*task));
}

static struct task *first(struct detacher *detacher, bool ended)
{
	for (size_t i = 0; i < detacher->n; i++)
		if (detacher->tasks[i].ended == ended)
			return &detacher->tasks[i];
	return NULL;
}

static int add(struct detacher *detacher, const char *id, struct error *err)
{
	struct task *last = find(detacher, id);

	if (last && !last->ended)
		return 0;
	if (!last && detacher->n == TASKS_MAX)
		last = first(detacher, true);
	if (!last && detacher->n == TASKS_MAX)
		return fail(err, ERR_RESOURCE_EXHAUSTED,
			    "%d volumes wait to be detached already; try again later", TASKS_MAX);
	if (last)
		forget(detacher, last);
	moves_close_to_detach(detacher->node->moves, id);
	detacher->tasks[detacher->n++] = (struct task){.id = mem_strdup(id)};
	return 0;
}

/* The thread */

static char *next(struct detacher *detacher)
{
	scoped_lock(&detacher->lock);
	const struct task *task = first(detacher, false);

	return task ? mem_strdup(task->id) : NULL;
}

static void end(struct detacher *detacher, const char *id, const struct error *err)
{
	scoped_lock(&detacher->lock);
	struct task *task = find(detacher, id);

	if (!task)
		return;
	task->ended = true;
	task->error = *err;
}

static void run(struct detacher *detacher, const char *id)
{
	auto_call struct rpc_call call = own_call(detacher->node, now_ms() + CATALOG_WAIT_MS);
	struct detach detach = {.call = &call, .rounds = detacher->rounds};
	struct error err = {.code = ERR_OK};

	if (detach_run(&detach, id, &err) == 0) {
		err.code = ERR_OK;
		log_info("volume is detached from its origin", log_str("volume", id));
	} else {
		log_warn("cannot detach a volume from its origin", log_str("volume", id),
			 log_str("error", err.text));
	}
	if (!detach.missing)
		moves_open(detacher->node->moves, id);
	end(detacher, id, &err);
}

static int work(struct rounds *rounds, void *arg, bool asked)
{
	struct detacher *detacher = arg;

	(void)asked;
	while (!rounds_stopping(rounds)) {
		auto_free char *id = next(detacher);
		if (!id)
			break;
		run(detacher, id);
	}
	return PAUSE_S;
}

int detacher_start(struct detacher **ret, const struct node *node, struct loop *loop,
		   struct error *err)
{
	struct detacher *detacher = *ret = mem_alloc(sizeof(*detacher));
	const struct rounds_work rounds = {.what = "the thread that detaches volumes",
					   .round = work,
					   .arg = detacher,
					   .first_s = PAUSE_S};

	memset(detacher, 0, sizeof(*detacher));
	detacher->node = node;
	pthread_mutex_init(&detacher->lock, NULL);
	return rounds_start(&detacher->rounds, node, loop, &rounds, err);
}

void detacher_stop(struct detacher *detacher)
{
	if (!detacher)
		return;
	rounds_stop(detacher->rounds);
	while (detacher->n)
		forget(detacher, detacher->tasks);
	pthread_mutex_destroy(&detacher->lock);
	free(detacher);
}

int detacher_begin(struct detacher *detacher, const char *id, struct error *err)
{
	{
		scoped_lock(&detacher->lock);
		if (add(detacher, id, err) < 0)
			return -1;
	}
	rounds_soon(detacher->rounds);
	return 0;
}

enum detacher_state detacher_look(struct detacher *detacher, const char *id,
				  struct error *ret_error)
{
	scoped_lock(&detacher->lock);
	const struct task *task = find(detacher, id);

	if (!task)
		return DETACHER_NONE;
	*ret_error = task->error;
	return task->ended ? DETACHER_ENDED : DETACHER_RUNS;
}
