/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_HOST_MOVES_H
#define ZCSI_NODE_HOST_MOVES_H

/*
 * The volumes that no call may use or change, because they are moving to another node: from shortly
 * before this host gives one up until the other node has it. Or because a rollback exchanges the
 * dataset, or while a volume is copied to detach it from its origin. Any thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"

struct moves;

struct moves *moves_new(void);
/* Free the table, which may be NULL. */
void moves_free(struct moves *moves);

/* Refuse all calls for a volume, which moves to a node (NULL: is rolled back); or permit them. */
void moves_close(struct moves *moves, const char *id, const char *to);
/* The same for a volume that is detached from its origin. */
void moves_close_to_detach(struct moves *moves, const char *id);
void moves_open(struct moves *moves, const char *id);
/*
 * Report that the volumes which an earlier zcsi-node has given up are closed, that those which it
 * has not given up have their devices, and that its rollbacks are finished.
 */
void moves_known(struct moves *moves);

/*
 * Wait for moves_known, at most until the deadline, and at most 30 seconds. Returns 0, or -1 with
 * ERR_UNAVAILABLE.
 */
int moves_wait(struct moves *moves, int64_t deadline, struct error *err);
/*
 * Check that a volume is not closed. moves may be NULL, as in the next two. Returns 0, or -1 with
 * ERR_FAILED_PRECONDITION, which names the other node, or ERR_UNAVAILABLE.
 */
int moves_check(struct moves *moves, const char *id, struct error *err);
/* Call moves_wait, then moves_check, for a volume that the catalog does not have. */
int moves_check_missing(struct moves *moves, const char *id, int64_t deadline, struct error *err);
/* *ret is the ids of all closed volumes, in the arena. Waits as moves_check_missing does. */
int moves_list(struct moves *moves, int64_t deadline, struct arena *arena, const char ***ret,
	       size_t *ret_n, struct error *err);

#endif
