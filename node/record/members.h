/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_MEMBERS_H
#define ZCSI_NODE_RECORD_MEMBERS_H

/*
 * The nodes that have the data of a volume: the text of its property zcsi:members, which the volume
 * and its copies have. Results live in the arena. Runs no program. Any thread.
 *
 *	<lineage>:<seconds>:<escaped node id>,<escaped node id>
 *
 * The lineage is made with a volume's first copy. A volume that was deleted and created again under
 * the same name gets another one, so its copies are told apart. The seconds are the longest time
 * that the copies may be behind. One of the nodes is the owner, which has the volume itself.
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
#define BANDWIDTH_MIN     65536 /* bytes a second */
#define BANDWIDTH_MAX     104857600000

/*
 * How the owner pushes its copies: the text of its property zcsi:push, which is words with ','
 * between: "paused", "bandwidth=52428800", "every=60", "snapshots=all", "pin_limit=86400",
 * "nodes=2", and "follow=no" or "follow=anywhere". An earlier zcsi-node ignores the property.
 */
enum follow_rule {
	FOLLOW_MEMBERS,  /* ControllerPublishVolume moves the volume to a node that has a copy */
	FOLLOW_ANYWHERE, /* and to any other node, which gets a copy first */
	FOLLOW_NO,
};

struct push_rules {
	bool paused;
	bool all; /* the copies get the snapshots of other tools too */
	enum follow_rule follow;
	int64_t bandwidth; /* bytes a second of each push; 0: no limit */
	int64_t every;     /* struct members has it from the first copy on; 0: no matter */
	int64_t pin_limit; /* seconds that a copy which gets nothing pins snapshots; 0: a day */
	int64_t nodes; /* how many nodes had the data before it moved to others; 0: it did not */
};

struct members {
	const char *lineage; /* LINEAGE_DIGITS hexadecimal digits in lower case; or "" */
	int64_t every;       /* seconds */
	const char *nodes[MEMBERS_MAX];
	size_t n;
};

/* Returns true for a lineage. */
bool lineage_is(const char *text);
/* Returns a new lineage. */
char *lineage_new(struct arena *arena);

/* Returns false, and no members, if the text is not of this form; "" is no members. */
bool members_parse(struct arena *arena, const char *text, struct members *ret);
/* Returns the text; "-" if there are no nodes, because zfs-fuse refuses an empty value. */
char *members_format(struct arena *arena, const struct members *members);
bool members_have(const struct members *members, const char *node);
/* Add or remove a node; false: there is no room. */
bool members_add(struct members *members, const char *node);
void members_remove(struct members *members, const char *node);
/*
 * Returns true if moves have put the volume on more nodes than rules->nodes, and the copy on this
 * node is among those that are dropped: the ones that have been members for longest.
 */
bool members_extra(const struct members *members, const struct push_rules *rules,
		   const char *our_id, const char *node);

/* Returns true for a time that copies may be behind, and for a limit of what is kept for them. */
bool every_is(int64_t every);
/* Returns true for a bandwidth that rules may have. */
bool bandwidth_is(int64_t bandwidth);
/* Returns the rules of a text; words that are not known are skipped. */
struct push_rules push_rules_parse(const char *text);
/* Take "ours" or "all"; "": as it is. Returns 0, or -1 with ERR_INVALID_ARGUMENT. */
int push_rules_take_snapshots(struct push_rules *rules, const char *which, struct error *err);
/* Take "members", "anywhere" or "no"; "": as it is. Returns 0, or -1 with ERR_INVALID_ARGUMENT. */
int push_rules_take_follow(struct push_rules *rules, const char *which, struct error *err);
/* Returns the text; "-" if there are no rules. */
char *push_rules_format(struct arena *arena, const struct push_rules *rules);

#endif
