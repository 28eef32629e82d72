/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_HOST_MOVES_H
#define ZCSI_NODE_HOST_MOVES_H

/*
 * The closed volumes, which no call may use or change: those that move to another node, from
 * shortly before this host gives them up until the other node has them; those whose dataset a
 * rollback exchanges; those that are copied to detach them from their origins; and those of which a
 * damaged record does not show whether this host gave them up. Any thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"

struct moves;

struct moves *moves_new(void);
/* Free the table, which may be NULL. */
void moves_free(struct moves *moves);

/* Close a volume that moves to the node `to`, or that is rolled back if `to` is NULL. */
void moves_close(struct moves *moves, const char *id, const char *to);
/* Close a volume that is detached from its origin. */
void moves_close_to_detach(struct moves *moves, const char *id);
/*
 * Close a volume of which a record is damaged. leaf: the last component of its dataset's name,
 * because the record of its id may be what is damaged. why: what is wrong, and what to type.
 */
void moves_close_damaged(struct moves *moves, const char *leaf, const char *why);
/* Open a closed volume: calls for it are permitted again. */
void moves_open(struct moves *moves, const char *id);
/*
 * Report that nothing of an earlier zcsi-node is left to do: the volumes that it gave up are
 * closed, the others have their devices again, and its rollbacks are finished.
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
