/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_OUTCOME_H
#define ZCSI_NODE_OWNER_OUTCOME_H

#include "node/host/node.h"
#include "node/record/ownership.h"

/* The answers of the members about a volume of this host. */
struct outcome {
	const char *id;
	struct members answered; /* the members that have answered */
	struct members heard;    /* the members that have answered and have a copy */
	struct ownership passed; /* newer, newer_epoch: the latest owner that a member has named */
};

/* Returns true if the answers change nothing for the volume, so no call for it is needed. */
bool outcome_is_settled(const struct node *node, struct arena *arena, const struct dataset *volume,
			const struct outcome *outcome);
/*
 * Read the volume again and do what follows, as a call for the volume: confirm this host as the
 * owner, count members again that were declared lost, or make way for another owner. Runs programs.
 * Any thread but the loop's and the workers. Returns false if the owner of the volume is still not
 * known, or if the volume is to make way.
 */
bool outcome_follow(const struct node *node, struct arena *arena, const struct outcome *outcome);

#endif
