/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_BACKUP_BACKUPS_H
#define ZCSI_NODE_BACKUP_BACKUPS_H

/*
 * The tasks for the backups of this host: runs and restores, one after the other, on a thread. They
 * are forgotten when zcsi-node ends; all that is worth keeping is in the pool. Any thread, except
 * where said.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"
#include "node/host/node.h"
#include "transport/loop.h"

struct backups;

enum backup_task_kind { BACKUP_RUN, BACKUP_RESTORE };

struct backup_task {
	enum backup_task_kind kind;
	const char *id;   /* of the volume */
	const char *from; /* of a run: see struct pull */
	bool add;
	const char *as; /* of a restore: see struct restore */
	uint64_t guid;  /* of a restore: of the snapshot; once ended: of the dataset */
	bool ended;
	struct error error; /* once ended; code ERR_OK: none */
};

/* Start the thread. Call it on the loop's thread. node has a catalog and peers. */
int backups_start(struct backups **ret, const struct node *node, struct loop *loop,
		  struct error *err);
/*
 * Interrupt the task that runs, and free the backups, which may be NULL. Loop thread, when the loop
 * does not run: it runs the loop until the thread has ended.
 */
void backups_stop(struct backups *backups);

/*
 * Put a task in the queue; its texts are copied. *ret is its number. Returns 0, or -1 with
 * ERR_RESOURCE_EXHAUSTED if too many wait.
 */
int backups_add(struct backups *backups, const struct backup_task *task, uint64_t *ret,
		struct error *err);
/* Returns false if there is no task of this number; *ret is a copy, without texts. */
bool backups_find(struct backups *backups, uint64_t number, struct backup_task *ret);
/*
 * Returns true if a task for a volume waits or runs. *ret_error is how the last one that ended has
 * failed, in the arena; "" if it did not.
 */
bool backups_busy(struct backups *backups, struct arena *arena, const char *id,
		  const char **ret_error);

#endif
