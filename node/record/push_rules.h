/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_PUSH_RULES_H
#define ZCSI_NODE_RECORD_PUSH_RULES_H

/*
 * How the owner pushes its copies: the text of its property zcsi:push, which is words with ','
 * between: "paused", "bandwidth=52428800", "every=60", "snapshots=all", "pin_limit=86400",
 * "repair_after=3600", "nodes=2", and "follow=no" or "follow=anywhere". An earlier zcsi-node
 * ignores the property. Runs no program. Any thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"

#define BANDWIDTH_MIN 65536 /* bytes a second */
#define BANDWIDTH_MAX 104857600000

enum follow_rule {
	FOLLOW_MEMBERS,  /* ControllerPublishVolume moves the volume to a node that has a copy */
	FOLLOW_ANYWHERE, /* and to any other node, which gets a copy first */
	FOLLOW_NO,
};

struct push_rules {
	bool paused;
	bool all; /* the copies get the snapshots of other tools too */
	enum follow_rule follow;
	int64_t bandwidth;    /* bytes a second of each push; 0: no limit */
	int64_t every;        /* seconds between pushes, before the first copy; 0: the default */
	int64_t pin_limit;    /* seconds that a copy which gets nothing pins snapshots; 0: a day */
	int64_t repair_after; /* seconds of silence after which a node is replaced; 0: never */
	int64_t nodes;        /* how many nodes are to have it, while more do; 0: all that do */
};

/* Returns true for a bandwidth that rules may have. */
bool bandwidth_is(int64_t bandwidth);
/* Returns the rules of a text; words that are not known are skipped. */
struct push_rules push_rules_parse(const char *text);
/*
 * Take a value of a request. Return 0, or -1 with ERR_INVALID_ARGUMENT. 0 and "": as it is; -1: no
 * limit, or never. Snapshots are "ours" or "all", a rule to follow "members", "anywhere" or "no".
 */
int push_rules_take_bandwidth(struct push_rules *rules, int64_t bandwidth, struct error *err);
int push_rules_take_pin_limit(struct push_rules *rules, int64_t limit, struct error *err);
int push_rules_take_repair(struct push_rules *rules, int64_t after, struct error *err);
int push_rules_take_snapshots(struct push_rules *rules, const char *which, struct error *err);
int push_rules_take_follow(struct push_rules *rules, const char *which, struct error *err);
/* Returns the text; "-" if there are no rules. */
char *push_rules_format(struct arena *arena, const struct push_rules *rules);

#endif
