/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_DRAIN_PLAN_H
#define ZCSI_CLI_DRAIN_PLAN_H

/* The volumes of a node, and where each of them can move to. All live in the arena of the cli. */

#include "controller/cli/move.h"

enum drain_fate {
	DRAIN_WAITS, /* waits for its turn to move */
	DRAIN_MOVES,
	DRAIN_MOVED,
	DRAIN_STAYS,
	DRAIN_LOST, /* stays, as far as is known: the move could not be watched to its end */
};

struct drain_row {
	struct move_wait move; /* to: NULL if it can move to no node */
	enum drain_fate fate;
	const char *why; /* why the volume stays */
	bool given_up;   /* the volume moves, and only the other node can finish the move */
	bool printed;
};

struct drain_plan {
	const struct member *node;
	struct drain_row *rows;
	size_t n;
};

/*
 * Make the plan for a node, from what the agents report now: the volumes that its agent lists, and
 * those that are moving away. Returns 0, or -1 with *err if the agent does not answer.
 */
int drain_plan_make(struct cli *cli, const char *node, struct drain_plan *ret, struct error *err);

#endif
