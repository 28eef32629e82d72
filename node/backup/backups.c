/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The tasks for backups.
 *
 * Invariant: tasks are a queue. Those that have ended are at its begin, where they are kept for
 * callers that ask how they ended, then comes the one that runs, then those that wait.
 */
#include "node/backup/backups.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "node/backup/incoming.h"
#include "node/backup/pull.h"
#include "node/backup/restore.h"
#include "node/stream/rounds.h"

#define TASKS_MAX 1024
#define PAUSE_S   3600 /* a task that is added ends the pause */

struct row {
	uint64_t number;
	struct backup_task task;
	char *id, *from, *as; /* what the task points to */
};

struct backups {
	const struct node *node;
	struct loop *loop;
	struct loop_task stop;
	struct rounds *rounds;
	struct incoming incoming;

	pthread_mutex_t lock; /* protects all members below */
	struct row rows[TASKS_MAX];
	size_t n, n_ended;
	uint64_t last; /* the number of the last task */
};

static void free_row(struct row *row)
{
	free(row->id);
	free(row->from);
	free(row->as);
}

static void run(struct backups *backups, struct backup_task *task, struct error *err)
{
	const struct pull pull = {.node = backups->node,
				  .incoming = &backups->incoming,
				  .id = task->id,
				  .from = task->from,
				  .add = task->add};
	const struct restore restore = {.node = backups->node,
					.rounds = backups->rounds,
					.id = task->id,
					.as = task->as,
					.guid = task->guid};
	bool runs = task->kind == BACKUP_RUN;
	int failed = runs ? pull_run(&pull, err) : restore_run(&restore, &task->guid, err);

	if (!failed)
		err->code = ERR_OK;
	else
		log_warn(runs ? "a backup has failed" : "a backup is not restored",
			 log_str("volume", task->id), log_str("error", err->text));
}

/* *ret is the first task that has not ended. Returns false if there is none. */
static bool next(struct backups *backups, struct backup_task *ret)
{
	scoped_lock(&backups->lock);

	if (backups->n_ended == backups->n)
		return false;
	*ret = backups->rows[backups->n_ended].task;
	return true;
}

static void put_back(struct backups *backups, const struct backup_task *task)
{
	scoped_lock(&backups->lock);

	backups->rows[backups->n_ended].task = *task;
	backups->rows[backups->n_ended++].task.ended = true;
}

/* No row moves while a task runs (backups_add), so its texts stay. */
static int work(struct rounds *rounds, void *arg, bool asked)
{
	struct backups *backups = arg;
	struct backup_task task;

	(void)asked;
	while (!rounds_stopping(rounds) && next(backups, &task)) {
		run(backups, &task, &task.error);
		put_back(backups, &task);
	}
	return PAUSE_S;
}

int backups_start(struct backups **ret, const struct node *node, struct loop *loop,
		  struct error *err)
{
	struct backups *backups = *ret = mem_alloc(sizeof(*backups));
	const struct rounds_work rounds = {
		.what = "the thread for backups", .round = work, .arg = backups};

	memset(backups, 0, sizeof(*backups));
	backups->node = node;
	backups->loop = loop;
	backups->incoming.loop = loop;
	pthread_mutex_init(&backups->lock, NULL);
	return rounds_start(&backups->rounds, node, loop, &rounds, err);
}

static void stop(struct loop_task *task)
{
	struct backups *backups = container_of(task, struct backups, stop);
	struct error err;

	fail(&err, ERR_UNAVAILABLE, "zcsi-node is stopping");
	incoming_cancel(&backups->incoming, &err);
}

void backups_stop(struct backups *backups)
{
	if (!backups)
		return;
	backups->stop.fn = stop;
	loop_post(backups->loop, &backups->stop);
	rounds_stop(backups->rounds);
	for (size_t i = 0; i < backups->n; i++)
		free_row(&backups->rows[i]);
	pthread_mutex_destroy(&backups->lock);
	free(backups);
}

/* Forget the oldest task that has ended. The caller has the lock. */
static void forget_one(struct backups *backups)
{
	free_row(&backups->rows[0]);
	memmove(&backups->rows[0], &backups->rows[1], --backups->n * sizeof(*backups->rows));
	backups->n_ended--;
}

/* Returns the row of a new task, or NULL if all wait. The caller has the lock. */
static struct row *new_row(struct backups *backups)
{
	if (backups->n == TASKS_MAX && backups->n_ended)
		forget_one(backups);
	return backups->n == TASKS_MAX ? NULL : &backups->rows[backups->n++];
}

static int append(struct backups *backups, const struct backup_task *task, uint64_t *ret,
		  struct error *err)
{
	scoped_lock(&backups->lock);
	struct row *row = new_row(backups);

	if (!row)
		return fail(err, ERR_RESOURCE_EXHAUSTED,
			    "%d backups wait already; try again when one has ended", TASKS_MAX);
	*row = (struct row){.number = *ret = ++backups->last,
			    .task = *task,
			    .id = mem_strdup(task->id),
			    .from = mem_strdup(task->from ? task->from : ""),
			    .as = mem_strdup(task->as ? task->as : "")};
	row->task.id = row->id;
	row->task.from = row->from;
	row->task.as = row->as;
	return 0;
}

int backups_add(struct backups *backups, const struct backup_task *task, uint64_t *ret,
		struct error *err)
{
	if (append(backups, task, ret, err) < 0)
		return -1;
	rounds_soon(backups->rounds);
	return 0;
}

bool backups_find(struct backups *backups, uint64_t number, struct backup_task *ret)
{
	scoped_lock(&backups->lock);

	for (size_t i = 0; i < backups->n; i++) {
		if (backups->rows[i].number != number)
			continue;
		*ret = backups->rows[i].task;
		ret->id = ret->from = ret->as = NULL;
		return true;
	}
	return false;
}

bool backups_busy(struct backups *backups, struct arena *arena, const char *id,
		  const char **ret_error)
{
	scoped_lock(&backups->lock);
	bool busy = false;

	*ret_error = "";
	for (size_t i = 0; i < backups->n; i++) {
		const struct row *row = &backups->rows[i];
		if (strcmp(row->id, id) != 0)
			continue;
		busy |= !row->task.ended;
		if (row->task.ended)
			*ret_error = row->task.error.code == ERR_OK
					     ? ""
					     : arena_strdup(arena, row->task.error.text);
	}
	return busy;
}
