/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_COPIES_H
#define ZCSI_CLI_COPIES_H

/* The copies of volumes, as the agents that push them know them. */

#include "controller/cli/cli.h"
#include "proto/copy.h"

/*
 * Print the copies of a volume, or of all if id is NULL. node: those on this node that the owner
 * knows; NULL: on all, and those that no owner knows.
 */
void copies_print(struct cli *cli, const char *id, const char *node);
/* Returns the answers of all agents to ListPushes; id: of this volume only, or "". */
const struct reply *copies_ask(struct cli *cli, const char *id);
/*
 * Returns the nodes with copies of a volume, and for how many seconds they are behind, for
 * CELL_WORDS. *ret_trouble is an error text of one of them, or NULL.
 */
const char *const *copies_of(struct cli *cli, const struct reply *pushes, const char *id,
			     const char **ret_trouble);
/* Returns the progress of a running push in words, in the arena. */
char *copies_progress(struct arena *arena, const PushState *push);
/* Returns true if a copy is further behind than it may be; now: ListPushesResponse.time. */
bool copies_late(const PushState *push, int64_t now);

#endif
