/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_MEMBERS_H
#define ZCSI_NODE_RECORD_MEMBERS_H

/*
 * The nodes that have the data of a volume: the text of its property zcsi:members, which the volume
 * and its copies have. Results live in the arena. Runs no program. Any thread.
 *
 *	<lineage>:<seconds>:<escaped node id>,<escaped node id>[:<escaped node id>,...]
 *
 * The lineage is made with a volume's first copy. A volume that was deleted and created again under
 * the same name gets another one, so its copies are told apart. The seconds are the longest time
 * that the copies may be behind. One of the nodes is the owner, which has the volume itself. Those
 * after the third colon are owed nodes: no members any more, but perhaps with an old copy.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"

#define LINEAGE_DIGITS    16
#define MEMBERS_MAX       8  /* nodes of a volume */
#define MEMBERS_EVERY_MIN 10 /* seconds */
#define MEMBERS_EVERY_MAX 2592000

struct members {
	const char *lineage; /* LINEAGE_DIGITS hexadecimal digits in lower case; or "" */
	int64_t every;       /* seconds */
	const char *nodes[MEMBERS_MAX];
	size_t n;
	const char *owed[MEMBERS_MAX]; /* nodes whose copies are to be dropped */
	size_t n_owed;
};

/* Returns true if the text has the form of a lineage. */
bool lineage_is(const char *text);
/* Returns a new lineage. */
char *lineage_new(struct arena *arena);

/*
 * Parse the text of zcsi:members; "" has no members. Returns false, with no members, if the text
 * has another form.
 */
bool members_parse(struct arena *arena, const char *text, struct members *ret);
/*
 * Returns the text of zcsi:members; "-" if there are no nodes, because zfs-fuse refuses an empty
 * value.
 */
char *members_format(struct arena *arena, const struct members *members);
bool members_have(const struct members *members, const char *node);
/*
 * members_add makes a node a member, and no owed node any more; false: there is no room.
 * members_remove removes a member or an owed node.
 */
bool members_add(struct members *members, const char *node);
void members_remove(struct members *members, const char *node);
bool members_owe(const struct members *members, const char *node);
/*
 * members_give_up makes a member an owed node; false: there is no room. members_put_first makes it
 * the first one, whose copy members_extra drops first.
 */
bool members_give_up(struct members *members, const char *node);
void members_put_first(struct members *members, const char *node);
/*
 * Returns true if there are more members than are wanted, and `node` is among those whose copies
 * are dropped: the ones that have been members for longest, without the owner our_id. wanted: 0 for
 * all.
 */
bool members_extra(const struct members *members, int64_t wanted, const char *our_id,
		   const char *node);

/* Returns true for a time that copies may be behind, and for a limit of what is kept for them. */
bool every_is(int64_t every);

#endif
