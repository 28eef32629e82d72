/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_PUSH_RULES_H
#define ZCSI_NODE_RECORD_PUSH_RULES_H

/*
 * How the owner of a volume pushes to the copies: the text of the volume's property zcsi:push,
 * which is words with ',' between: "paused", "bandwidth=52428800", "every=60", "snapshots=all",
 * "pin_limit=86400", "repair_after=3600", "nodes=2", and "follow=no" or "follow=anywhere". An
 * earlier zcsi-node ignores the property. Runs no program. Any thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"

#define BANDWIDTH_MIN 65536 /* bytes a second */
#define BANDWIDTH_MAX 104857600000

enum follow_rule {
	FOLLOW_MEMBERS,  /* ControllerPublishVolume moves the volume to a node that has a copy */
	FOLLOW_ANYWHERE, /* ControllerPublishVolume moves it to any node, which gets a copy first */
	FOLLOW_NO,
};

struct push_rules {
	bool paused;
	bool all; /* the copies get the snapshots of other tools too */
	enum follow_rule follow;
	int64_t bandwidth;    /* bytes a second of each push; 0: no limit */
	int64_t every;        /* seconds between pushes, for the first copy; 0: the default */
	int64_t pin_limit;    /* seconds that a copy which gets nothing pins snapshots; 0: a day */
	int64_t repair_after; /* seconds of silence after which a node is replaced; 0: never */
	int64_t nodes;        /* members to keep, while there are more; 0: all */
};

/* Returns true for a bandwidth that rules may have. */
bool bandwidth_is(int64_t bandwidth);
/* Returns the rules of a text; words that are not known are skipped. */
struct push_rules push_rules_parse(const char *text);
/*
 * Set a rule to a value of a request. Return 0, or -1 with ERR_INVALID_ARGUMENT. 0 and "" leave the
 * rule as it is. -1 is no bandwidth limit, or no repair. Snapshots are "ours" or "all", a follow
 * rule is "members", "anywhere" or "no".
 */
int push_rules_take_bandwidth(struct push_rules *rules, int64_t bandwidth, struct error *err);
int push_rules_take_pin_limit(struct push_rules *rules, int64_t limit, struct error *err);
int push_rules_take_repair(struct push_rules *rules, int64_t after, struct error *err);
int push_rules_take_snapshots(struct push_rules *rules, const char *which, struct error *err);
int push_rules_take_follow(struct push_rules *rules, const char *which, struct error *err);
/* Returns the text of zcsi:push; "-" if there are no rules. */
char *push_rules_format(struct arena *arena, const struct push_rules *rules);

#endif
