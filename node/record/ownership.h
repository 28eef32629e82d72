/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_OWNERSHIP_H
#define ZCSI_NODE_RECORD_OWNERSHIP_H

/*
 * The owner of a volume with copies. A mark is <escaped node id>:<epoch>: the node is or may be the
 * owner from that epoch on; zcsi:moving and zcsi:accepted are marks. The property zcsi:owner of a
 * volume says whether this host still is its owner, by words with ',' between:
 *
 *	boot=<id>          the boot of this host since which the members confirm it as owner
 *	newer=<mark>       another node took the volume over
 *	lost=<node>        a member that was declared lost, and has not answered since
 *
 * Node ids are escaped. Results live in the arena. Runs no program. Any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"
#include "node/record/members.h"

#define OWNERSHIP_UNKNOWN "?"

struct ownership {
	const char *boot;    /* "": none */
	const char *newer;   /* the new owner; OWNERSHIP_UNKNOWN: not known which node */
	int64_t newer_epoch; /* 0: none */
	const char *lost[MEMBERS_MAX];
	size_t n_lost;
};

/* Returns a mark. */
char *mark_format(struct arena *arena, const char *node, int64_t epoch);
/* Parse a mark. Returns false if the text has another form. */
bool mark_parse(struct arena *arena, const char *text, const char **ret_node, int64_t *ret_epoch);

/* Parse the text of zcsi:owner. Unknown words are skipped. */
struct ownership ownership_parse(struct arena *arena, const char *text);
/* Returns the text of zcsi:owner; "-" if it would have no words. */
char *ownership_format(struct arena *arena, const struct ownership *ownership);

/*
 * Record that a node took the volume over at an epoch, unless a node is recorded with this epoch
 * already, or with a later one. A node id replaces OWNERSHIP_UNKNOWN of the same epoch. Returns
 * true if it was recorded.
 */
bool ownership_pass(struct ownership *ownership, const char *node, int64_t epoch);

bool ownership_has_lost(const struct ownership *ownership, const char *node);
/* Add a node that was declared lost, or remove one that has answered since. */
void ownership_lose(struct ownership *ownership, const char *node);
void ownership_find(struct ownership *ownership, const char *node);

/*
 * Returns true if the owner and the `heard` other members that have confirmed it are more than half
 * of the members, of whom those declared lost do not count. Then no other node can have taken the
 * volume over without one of them.
 */
bool ownership_is_majority(const struct ownership *ownership, const struct members *members,
			   size_t heard);

#endif
