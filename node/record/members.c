/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Parsing and formatting zcsi:members.
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

bool every_is(int64_t every)
{
	return every >= MEMBERS_EVERY_MIN && every <= MEMBERS_EVERY_MAX;
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

bool members_extra(const struct members *members, int64_t wanted, const char *our_id,
		   const char *node)
{
	size_t extra = members->n, earlier = 0;

	if (!wanted || extra <= (size_t)wanted || !members_have(members, node))
		return false;
	extra -= (size_t)wanted;
	for (size_t i = 0; strcmp(members->nodes[i], node) != 0; i++)
		earlier += strcmp(members->nodes[i], our_id) != 0;
	return strcmp(node, our_id) != 0 && earlier < extra;
}
