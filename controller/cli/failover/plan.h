/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_FAILOVER_PLAN_H
#define ZCSI_CLI_FAILOVER_PLAN_H

/*
 * Which copies can replace the volumes of lost nodes, and what would be lost. All live in the arena
 * of the cli.
 */

#include "controller/cli/cli.h"
#include "proto/copy.h"

struct takeover {
	const char *id;
	const struct member *to; /* the node with the newest copy; NULL: see why */
	const HeldCopy *copy;
	int64_t epoch;    /* the epoch of the new owner */
	int64_t may_lose; /* seconds since the copy had all that was written; -1: has nothing */
	const char *why;  /* why the volume is not taken over, or NULL */
	const char *note; /* if why is NULL: a warning about the failover, or NULL */
	bool done;
};

struct failover_plan {
	struct takeover *rows; /* in order of id */
	size_t n;
};

/* Returns true if the node was given with --lost. */
bool failover_is_lost(const struct cli *cli, const char *node);
/*
 * Make the plan for a volume, or for all volumes of the lost nodes if id is NULL. Returns 0, or -1
 * with *err if an agent that is up does not list its copies.
 */
int failover_plan_make(struct cli *cli, const char *id, struct failover_plan *ret,
		       struct error *err);

#endif
