/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_BACKUP_QUEUE_H
#define ZCSI_NODE_BACKUP_QUEUE_H

/*
 * The tasks for the backups of this host, which are runs, verifications and restores, in the order
 * in which they are to be done, and how the last ones have ended. Any thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"

struct queue;

enum backup_task_kind { BACKUP_RUN, BACKUP_VERIFY, BACKUP_RESTORE };

struct backup_task {
	enum backup_task_kind kind;
	const char *id;   /* id of the volume */
	const char *from; /* node of a run; see struct pull, as for the next five members */
	bool add, only_new, only_rules;
	int64_t every;
	const char *keep;
	const char *as; /* id of the volume that a restore makes */
	uint64_t guid;  /* restore: guid of the snapshot; after the end, of the dataset */
	bool ended;
	bool idle;          /* a run has ended, and there was nothing to pull */
	struct error error; /* how the task has ended; ERR_OK: it succeeded */
};

struct queue *queue_new(void);
/* Free the queue, which may be NULL. */
void queue_free(struct queue *queue);

/*
 * Add a task, whose texts are copied; NULL is "". *ret is its number, or the number of a run that
 * waits and has the same parameters. Returns 0, or -1 with ERR_RESOURCE_EXHAUSTED if too many wait.
 */
int queue_add(struct queue *queue, const struct backup_task *task, uint64_t *ret,
	      struct error *err);
/*
 * *ret is the first task that has not ended; its texts live until queue_end. Returns false if there
 * is none.
 */
bool queue_next(struct queue *queue, struct backup_task *ret);
/* Record how the task of queue_next has ended. */
void queue_end(struct queue *queue, const struct backup_task *task);

/* Returns false if there is no task of this number; *ret is a copy, without texts. */
bool queue_find(struct queue *queue, uint64_t number, struct backup_task *ret);
/* Returns true if a task for a volume waits or runs. */
bool queue_busy(struct queue *queue, const char *id);
/*
 * Returns the error of the last run, or of the last verification, of a backup, in the arena; NULL
 * if it succeeded, or none has ended. Runs that had nothing to pull do not count.
 */
const char *queue_failure(struct queue *queue, struct arena *arena, const char *id,
			  enum backup_task_kind kind);
/* Forget how tasks for a backup have failed. */
void queue_forget(struct queue *queue, const char *id);
/* Returns true if a run for a volume waits or runs, or one has ended less than `ms` ago. */
bool queue_tried(struct queue *queue, const char *id, int64_t ms);

#endif
