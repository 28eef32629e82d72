/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_COPIES_H
#define ZCSI_CLI_COPIES_H

/* The copies of volumes, as the agents that push them report them. */

#include "controller/cli/cli.h"
#include "proto/copy.h"

/*
 * Print the copies of a volume, or of all volumes if id is NULL. If node is given, only those on
 * this node that an owner pushes; if it is NULL, those on all nodes, also if no owner pushes them.
 */
void copies_print(struct cli *cli, const char *id, const char *node);
/* Returns the answers of all agents to ListPushes; id: of this volume only, or "". */
const struct reply *copies_ask(struct cli *cli, const char *id);
/*
 * Returns the nodes with copies of a volume, and for how many seconds they are behind, as a value
 * of the type CELL_WORDS. *ret_trouble is an error text about one of the copies, or NULL.
 */
const char *const *copies_of(struct cli *cli, const struct reply *pushes, const char *id,
			     const char **ret_trouble);
/*
 * Check that a node can have a copy or a backup of the volume: the node is another one and answers,
 * and both have OpenZFS. Returns 0, or -1 with *err.
 */
int copies_check_node(const struct cli *cli, const struct owned *volume, const char *node,
		      struct error *err);
/* Returns the progress of a running push in words, in the arena. */
char *copies_progress(struct arena *arena, const PushState *push);
/* Returns true if a copy is further behind than it may be; now: ListPushesResponse.time. */
bool copies_late(const PushState *push, int64_t now);

#endif
