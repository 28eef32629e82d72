/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_BACKUP_BACKUPS_H
#define ZCSI_NODE_BACKUP_BACKUPS_H

/*
 * The thread that does the tasks for the backups of this host, one after the other. Tasks are
 * forgotten when zcsi-node ends; all that is worth keeping is in the pool. Any thread, except where
 * said.
 */

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "node/backup/queue.h"
#include "node/host/node.h"
#include "transport/loop.h"

struct backups;

/* Start the thread. Call it on the loop's thread. node has a catalog and peers. */
int backups_start(struct backups **ret, const struct node *node, struct loop *loop,
		  struct error *err);
/*
 * Interrupt the task that runs, and free the backups, which may be NULL. Call it on the loop's
 * thread while the loop does not run: the function runs the loop until the thread for backups has
 * ended.
 */
void backups_stop(struct backups *backups);

/* Add a task to the queue, as queue_add does, and wake the thread, which does it. */
int backups_add(struct backups *backups, const struct backup_task *task, uint64_t *ret,
		struct error *err);
/* Returns the queue of the tasks, for the other functions of queue.h. */
struct queue *backups_queue(struct backups *backups);

/* Write the metrics of backups, which may be NULL. */
void backups_metrics_write(struct backups *backups, FILE *out);

#endif
