/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Parsing and formatting zcsi:push.
 *
 * Invariant: a word that is not known is skipped, because a later zcsi-node may have written it.
 */
#include "node/record/push_rules.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "node/record/members.h"

#define PAUSED    "paused"
#define ALL       "snapshots=all"
#define FOLLOW    "follow="
#define BANDWIDTH "bandwidth="
#define EVERY     "every="
#define PIN_LIMIT "pin_limit="
#define NODES     "nodes="
#define REPAIR    "repair_after="

static bool nodes_are(int64_t nodes)
{
	return nodes >= 1 && nodes <= MEMBERS_MAX;
}

bool bandwidth_is(int64_t bandwidth)
{
	return bandwidth >= BANDWIDTH_MIN && bandwidth <= BANDWIDTH_MAX;
}

/* Take the number after a key, if the word begins with the key and `is` accepts the number. */
static void take_number(const char *word, const char *key, bool (*is)(int64_t), int64_t *ret)
{
	size_t length = strlen(key);
	char *end;

	if (strncmp(word, key, length) != 0)
		return;
	int64_t number = strtoll(word + length, &end, 10);
	if (!*end && is(number))
		*ret = number;
}

static const char *const follow_words[] = {
	[FOLLOW_MEMBERS] = "members",
	[FOLLOW_ANYWHERE] = "anywhere",
	[FOLLOW_NO] = "no",
};

/* Take the rule that the word names. Returns false if it names none. */
static bool take_follow(const char *word, enum follow_rule *ret)
{
	for (size_t i = 0; i < COUNT(follow_words); i++) {
		if (strcmp(word, follow_words[i]) != 0)
			continue;
		*ret = (enum follow_rule)i;
		return true;
	}
	return false;
}

struct push_rules push_rules_parse(const char *text)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct push_rules rules = {.bandwidth = 0};
	char *rest = arena_strdup(&arena, text), *word;

	while ((word = strsep(&rest, ","))) {
		rules.paused |= strcmp(word, PAUSED) == 0;
		rules.all |= strcmp(word, ALL) == 0;
		if (strncmp(word, FOLLOW, strlen(FOLLOW)) == 0)
			take_follow(word + strlen(FOLLOW), &rules.follow);
		take_number(word, BANDWIDTH, bandwidth_is, &rules.bandwidth);
		take_number(word, EVERY, every_is, &rules.every);
		take_number(word, PIN_LIMIT, every_is, &rules.pin_limit);
		take_number(word, NODES, nodes_are, &rules.nodes);
		take_number(word, REPAIR, every_is, &rules.repair_after);
	}
	return rules;
}

int push_rules_take_bandwidth(struct push_rules *rules, int64_t bandwidth, struct error *err)
{
	if (!bandwidth)
		return 0;
	rules->bandwidth = bandwidth == -1 ? 0 : bandwidth;
	if (bandwidth == -1 || bandwidth_is(bandwidth))
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "bandwidth is from %d to %lld bytes per second, not %" PRId64, BANDWIDTH_MIN,
		    (long long)BANDWIDTH_MAX, bandwidth);
}

int push_rules_take_pin_limit(struct push_rules *rules, int64_t limit, struct error *err)
{
	if (!limit)
		return 0;
	rules->pin_limit = limit;
	if (every_is(limit))
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT, "pin_limit is from %d to %d seconds, not %" PRId64,
		    MEMBERS_EVERY_MIN, MEMBERS_EVERY_MAX, limit);
}

int push_rules_take_repair(struct push_rules *rules, int64_t after, struct error *err)
{
	if (!after)
		return 0;
	rules->repair_after = after == -1 ? 0 : after;
	if (after == -1 || every_is(after))
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "repair_after is from %d to %d seconds, not %" PRId64, MEMBERS_EVERY_MIN,
		    MEMBERS_EVERY_MAX, after);
}

int push_rules_take_snapshots(struct push_rules *rules, const char *which, struct error *err)
{
	bool all = strcmp(which, "all") == 0;

	if (*which && !all && strcmp(which, "ours") != 0)
		return fail(err, ERR_INVALID_ARGUMENT, "snapshots is 'ours' or 'all', not '%.64s'",
			    which);
	if (*which)
		rules->all = all;
	return 0;
}

int push_rules_take_follow(struct push_rules *rules, const char *which, struct error *err)
{
	if (!*which || take_follow(which, &rules->follow))
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "follow is 'members', 'anywhere' or 'no', not '%.64s'", which);
}

char *push_rules_format(struct arena *arena, const struct push_rules *rules)
{
	char *text = arena_strdup(arena, rules->paused ? "," PAUSED : "");

	if (rules->bandwidth)
		text = arena_printf(arena, "%s," BANDWIDTH "%" PRId64, text, rules->bandwidth);
	if (rules->every)
		text = arena_printf(arena, "%s," EVERY "%" PRId64, text, rules->every);
	if (rules->pin_limit)
		text = arena_printf(arena, "%s," PIN_LIMIT "%" PRId64, text, rules->pin_limit);
	if (rules->repair_after)
		text = arena_printf(arena, "%s," REPAIR "%" PRId64, text, rules->repair_after);
	if (rules->nodes)
		text = arena_printf(arena, "%s," NODES "%" PRId64, text, rules->nodes);
	if (rules->all)
		text = arena_printf(arena, "%s," ALL, text);
	if (rules->follow != FOLLOW_MEMBERS)
		text = arena_printf(arena, "%s," FOLLOW "%s", text, follow_words[rules->follow]);
	return *text ? text + 1 : arena_strdup(arena, "-");
}
