/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The queue of tasks for backups.
 *
 * Invariant: the tasks that have ended are at its begin, where they are kept for callers that ask
 * how they ended, then comes the one that runs, then those that wait.
 */
#include "node/backup/queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

#define TASKS_MAX 1024

struct row {
	uint64_t number;
	struct backup_task task;
	char *id, *from, *as, *keep; /* what the task points to */
	int64_t ended;               /* a now_ms() value; 0: not yet */
};

struct queue {
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
	free(row->keep);
}

struct queue *queue_new(void)
{
	struct queue *queue = mem_alloc(sizeof(*queue));

	memset(queue, 0, sizeof(*queue));
	pthread_mutex_init(&queue->lock, NULL);
	return queue;
}

void queue_free(struct queue *queue)
{
	if (!queue)
		return;
	for (size_t i = 0; i < queue->n; i++)
		free_row(&queue->rows[i]);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

/* Forget the oldest task that has ended. The caller has the lock. */
static void forget_one(struct queue *queue)
{
	free_row(&queue->rows[0]);
	memmove(&queue->rows[0], &queue->rows[1], --queue->n * sizeof(*queue->rows));
	queue->n_ended--;
}

/* Returns the row of a new task, or NULL if all wait. The caller has the lock. */
static struct row *new_row(struct queue *queue)
{
	if (queue->n == TASKS_MAX && queue->n_ended)
		forget_one(queue);
	return queue->n == TASKS_MAX ? NULL : &queue->rows[queue->n++];
}

int queue_add(struct queue *queue, const struct backup_task *task, uint64_t *ret, struct error *err)
{
	scoped_lock(&queue->lock);
	struct row *row = new_row(queue);

	if (!row)
		return fail(err, ERR_RESOURCE_EXHAUSTED,
			    "%d backups wait already; try again when one has ended", TASKS_MAX);
	*row = (struct row){.number = *ret = ++queue->last,
			    .task = *task,
			    .id = mem_strdup(task->id),
			    .from = mem_strdup(task->from ? task->from : ""),
			    .as = mem_strdup(task->as ? task->as : ""),
			    .keep = mem_strdup(task->keep ? task->keep : "")};
	row->task.id = row->id;
	row->task.from = row->from;
	row->task.as = row->as;
	row->task.keep = row->keep;
	return 0;
}

bool queue_next(struct queue *queue, struct backup_task *ret)
{
	scoped_lock(&queue->lock);

	if (queue->n_ended == queue->n)
		return false;
	*ret = queue->rows[queue->n_ended].task;
	return true;
}

void queue_end(struct queue *queue, const struct backup_task *task)
{
	scoped_lock(&queue->lock);

	struct row *row = &queue->rows[queue->n_ended++];
	row->task = *task;
	row->task.ended = true;
	row->ended = now_ms();
}

bool queue_find(struct queue *queue, uint64_t number, struct backup_task *ret)
{
	scoped_lock(&queue->lock);

	for (size_t i = 0; i < queue->n; i++) {
		if (queue->rows[i].number != number)
			continue;
		*ret = queue->rows[i].task;
		ret->id = ret->from = ret->as = ret->keep = NULL;
		return true;
	}
	return false;
}

bool queue_busy(struct queue *queue, struct arena *arena, const char *id, const char **ret_error)
{
	scoped_lock(&queue->lock);
	bool busy = false;

	*ret_error = "";
	for (size_t i = 0; i < queue->n; i++) {
		const struct row *row = &queue->rows[i];
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

bool queue_failed(struct queue *queue, const char *id, enum backup_task_kind kind)
{
	scoped_lock(&queue->lock);
	bool failed = false;

	for (size_t i = 0; i < queue->n; i++) {
		const struct row *row = &queue->rows[i];
		if (row->task.ended && strcmp(row->id, id) == 0)
			failed = row->task.error.code != ERR_OK && row->task.kind == kind;
	}
	return failed;
}

bool queue_tried(struct queue *queue, const char *id, int64_t ms)
{
	scoped_lock(&queue->lock);

	for (size_t i = 0; i < queue->n; i++) {
		const struct row *row = &queue->rows[i];
		if (row->task.kind == BACKUP_RUN && strcmp(row->id, id) == 0 &&
		    (!row->task.ended || now_ms() - row->ended < ms))
			return true;
	}
	return false;
}
