/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Parsing and formatting zcsi:members and zcsi:push.
 *
 * Invariant: a text is parsed whole or not at all, so that no node is forgotten by mistake.
 */
#include "node/record/members.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/volume/escape.h"

bool lineage_is(const char *text)
{
	return strlen(text) == LINEAGE_DIGITS && strspn(text, "0123456789abcdef") == LINEAGE_DIGITS;
}

char *lineage_new(struct arena *arena)
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		abort();
	return arena_printf(arena, "%016" PRIx64, random);
}

static bool parse(struct arena *arena, char *text, struct members *ret)
{
	char *every, *nodes, *node, *end;

	ret->lineage = strsep(&text, ":");
	every = strsep(&text, ":");
	nodes = text;
	if (!lineage_is(ret->lineage) || !every || !nodes)
		return false;
	ret->every = strtoll(every, &end, 10);
	if (*end || !every_is(ret->every))
		return false;
	while ((node = strsep(&nodes, ",")))
		if (!*node || !(node = unescape_text(arena, node)) || !members_add(ret, node))
			return false;
	return true;
}

bool members_parse(struct arena *arena, const char *text, struct members *ret)
{
	*ret = (struct members){.lineage = ""};
	if (!*text)
		return true;
	if (parse(arena, arena_strdup(arena, text), ret))
		return true;
	*ret = (struct members){.lineage = ""};
	return false;
}

char *members_format(struct arena *arena, const struct members *members)
{
	char *text = arena_printf(arena, "%s:%" PRId64 ":", members->lineage, members->every);

	for (size_t i = 0; i < members->n; i++)
		text = arena_printf(arena, "%s%s%s", text, i ? "," : "",
				    escape_text(arena, members->nodes[i]));
	return members->n ? text : arena_strdup(arena, "-");
}

bool members_have(const struct members *members, const char *node)
{
	for (size_t i = 0; i < members->n; i++)
		if (strcmp(members->nodes[i], node) == 0)
			return true;
	return false;
}

bool members_add(struct members *members, const char *node)
{
	if (members_have(members, node))
		return true;
	if (members->n == MEMBERS_MAX)
		return false;
	members->nodes[members->n++] = node;
	return true;
}

void members_remove(struct members *members, const char *node)
{
	size_t n = 0;

	for (size_t i = 0; i < members->n; i++)
		if (strcmp(members->nodes[i], node) != 0)
			members->nodes[n++] = members->nodes[i];
	members->n = n;
}

bool members_extra(const struct members *members, const struct push_rules *rules,
		   const char *our_id, const char *node)
{
	size_t extra = members->n, earlier = 0;

	if (!rules->nodes || extra <= (size_t)rules->nodes || !members_have(members, node))
		return false;
	extra -= (size_t)rules->nodes;
	for (size_t i = 0; strcmp(members->nodes[i], node) != 0; i++)
		earlier += strcmp(members->nodes[i], our_id) != 0;
	return strcmp(node, our_id) != 0 && earlier < extra;
}

#define PAUSED    "paused"
#define ALL       "snapshots=all"
#define FOLLOW    "follow="
#define BANDWIDTH "bandwidth="
#define EVERY     "every="
#define PIN_LIMIT "pin_limit="
#define NODES     "nodes="

bool every_is(int64_t every)
{
	return every >= MEMBERS_EVERY_MIN && every <= MEMBERS_EVERY_MAX;
}

static bool nodes_are(int64_t nodes)
{
	return nodes >= 1 && nodes <= MEMBERS_MAX;
}

bool bandwidth_is(int64_t bandwidth)
{
	return bandwidth >= BANDWIDTH_MIN && bandwidth <= BANDWIDTH_MAX;
}

/* Take the number after a key, if the word begins with that and the number is right. */
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
	}
	return rules;
}

int push_rules_take_snapshots(struct push_rules *rules, const char *which, struct error *err)
{
	bool all = strcmp(which, "all") == 0;

	if (*which && !all && strcmp(which, "ours") != 0)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "its copies get the snapshots 'ours' or 'all', not '%.64s'", which);
	if (*which)
		rules->all = all;
	return 0;
}

int push_rules_take_follow(struct push_rules *rules, const char *which, struct error *err)
{
	if (!*which || take_follow(which, &rules->follow))
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "it follows its workload to its 'members', 'anywhere', or 'no', not '%.64s'",
		    which);
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
	if (rules->nodes)
		text = arena_printf(arena, "%s," NODES "%" PRId64, text, rules->nodes);
	if (rules->all)
		text = arena_printf(arena, "%s," ALL, text);
	if (rules->follow != FOLLOW_MEMBERS)
		text = arena_printf(arena, "%s," FOLLOW "%s", text, follow_words[rules->follow]);
	return *text ? text + 1 : arena_strdup(arena, "-");
}
