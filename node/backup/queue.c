/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The queue of tasks for backups.
 *
 * Invariant: first come the tasks that have ended, which are kept for callers that ask for the
 * result, then the one that runs, then those that wait. A failure of a backup is kept until the
 * same kind of task succeeds, however many tasks of other kinds end before.
 */
#include "node/backup/queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

#define TASKS_MAX    1024
#define FAILURES_MAX 1024

struct row {
	uint64_t number;
	struct backup_task task;
	char *id, *from, *as, *keep; /* the strings that `task` points to */
	bool begun;
	int64_t ended; /* when the task ended, by now_ms(); 0: it has not */
};

/* How the last run, or the last verification, of a backup has failed. */
struct failure {
	enum backup_task_kind kind;
	char *id, *text;
};

struct queue {
	pthread_mutex_t lock; /* protects all members of the queue */
	struct row rows[TASKS_MAX];
	size_t n, n_ended;
	uint64_t last;                         /* the number of the last task */
	struct failure failures[FAILURES_MAX]; /* the failures, oldest first */
	size_t n_failures;
};

static void free_row(struct row *row)
{
	free(row->id);
	free(row->from);
	free(row->as);
	free(row->keep);
}

static void remove_failure(struct queue *queue, size_t at)
{
	struct failure *failure = &queue->failures[at];

	free(failure->id);
	free(failure->text);
	memmove(failure, failure + 1, (--queue->n_failures - at) * sizeof(*failure));
}

struct queue *queue_new(void)
{
	struct queue *queue = mem_alloc(sizeof(*queue));

	memset(queue, 0, sizeof(*queue));
	/*
	 * Begin with the time, so that no task gets a number that an earlier zcsi-node gave to
	 * another.
	 */
	queue->last = (uint64_t)wall_us();
	pthread_mutex_init(&queue->lock, NULL);
	return queue;
}

void queue_free(struct queue *queue)
{
	if (!queue)
		return;
	for (size_t i = 0; i < queue->n; i++)
		free_row(&queue->rows[i]);
	while (queue->n_failures)
		remove_failure(queue, queue->n_failures - 1);
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

/*
 * Returns the row of a new task, or NULL if the queue is full of tasks that have not ended. The
 * caller has the lock.
 */
static struct row *new_row(struct queue *queue)
{
	if (queue->n == TASKS_MAX && queue->n_ended)
		forget_one(queue);
	return queue->n == TASKS_MAX ? NULL : &queue->rows[queue->n++];
}

static bool is_same_text(const char *text, const char *given)
{
	return strcmp(text, given ? given : "") == 0;
}

static bool is_same(const struct row *row, const struct backup_task *task)
{
	const struct backup_task *waits = &row->task;

	return waits->add == task->add && waits->only_new == task->only_new &&
	       waits->only_rules == task->only_rules && waits->every == task->every &&
	       is_same_text(row->from, task->from) && is_same_text(row->keep, task->keep);
}

/*
 * Returns the last run that waits for the task's volume, if it has the same parameters as the task;
 * else NULL. Earlier runs that wait do not count: the last one may have changed the rules. The
 * caller has the lock.
 */
static const struct row *find_same(struct queue *queue, const struct backup_task *task)
{
	for (size_t i = queue->n; task->kind == BACKUP_RUN && i-- > queue->n_ended;) {
		const struct row *row = &queue->rows[i];
		if (!row->begun && row->task.kind == BACKUP_RUN && strcmp(row->id, task->id) == 0)
			return is_same(row, task) ? row : NULL;
	}
	return NULL;
}

int queue_add(struct queue *queue, const struct backup_task *task, uint64_t *ret, struct error *err)
{
	scoped_lock(&queue->lock);
	const struct row *same = find_same(queue, task);

	if (same) {
		*ret = same->number;
		return 0;
	}
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
	queue->rows[queue->n_ended].begun = true;
	*ret = queue->rows[queue->n_ended].task;
	return true;
}

/* Returns the failure of a backup, or NULL. The caller has the lock. */
static struct failure *find_failure(struct queue *queue, const char *id, enum backup_task_kind kind)
{
	for (size_t i = 0; i < queue->n_failures; i++)
		if (queue->failures[i].kind == kind && strcmp(queue->failures[i].id, id) == 0)
			return &queue->failures[i];
	return NULL;
}

/*
 * Keep the error of a run or a verification for queue_failure, or forget the former error after a
 * success. The caller has the lock.
 */
static void keep_outcome(struct queue *queue, const struct backup_task *task)
{
	if (task->kind == BACKUP_RESTORE || task->idle)
		return;
	struct failure *old = find_failure(queue, task->id, task->kind);
	if (old)
		remove_failure(queue, (size_t)(old - queue->failures));
	if (task->error.code == ERR_OK)
		return;
	if (queue->n_failures == FAILURES_MAX)
		remove_failure(queue, 0);
	queue->failures[queue->n_failures++] =
		(struct failure){task->kind, mem_strdup(task->id), mem_strdup(task->error.text)};
}

void queue_end(struct queue *queue, const struct backup_task *task)
{
	scoped_lock(&queue->lock);

	struct row *row = &queue->rows[queue->n_ended++];
	row->task = *task;
	row->task.ended = true;
	row->ended = now_ms();
	keep_outcome(queue, &row->task);
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

bool queue_busy(struct queue *queue, const char *id)
{
	scoped_lock(&queue->lock);
	bool busy = false;

	for (size_t i = queue->n_ended; i < queue->n; i++)
		busy |= strcmp(queue->rows[i].id, id) == 0;
	return busy;
}

const char *queue_failure(struct queue *queue, struct arena *arena, const char *id,
			  enum backup_task_kind kind)
{
	scoped_lock(&queue->lock);
	const struct failure *failure = find_failure(queue, id, kind);

	return failure ? arena_strdup(arena, failure->text) : NULL;
}

void queue_forget(struct queue *queue, const char *id)
{
	scoped_lock(&queue->lock);

	for (size_t i = queue->n_failures; i > 0; i--)
		if (strcmp(queue->failures[i - 1].id, id) == 0)
			remove_failure(queue, i - 1);
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
