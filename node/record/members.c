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

static bool list_has(const char *const *list, size_t n, const char *node)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], node) == 0)
			return true;
	return false;
}

static bool list_add(const char **list, size_t *n, const char *node)
{
	if (list_has(list, *n, node))
		return true;
	if (*n == MEMBERS_MAX)
		return false;
	list[(*n)++] = node;
	return true;
}

static void list_remove(const char **list, size_t *n, const char *node)
{
	size_t left = 0;

	for (size_t i = 0; i < *n; i++)
		if (strcmp(list[i], node) != 0)
			list[left++] = list[i];
	*n = left;
}

/* Parse node ids that ',' separates; text: NULL if there are none. */
static bool parse_list(struct arena *arena, char *text, const char **list, size_t *n)
{
	char *node;

	while ((node = strsep(&text, ",")))
		if (!*node || !(node = unescape_text(arena, node)) || !list_add(list, n, node))
			return false;
	return true;
}

static bool parse(struct arena *arena, char *text, struct members *ret)
{
	char *every, *nodes, *end;

	ret->lineage = strsep(&text, ":");
	every = strsep(&text, ":");
	nodes = strsep(&text, ":");
	if (!lineage_is(ret->lineage) || !every || !nodes)
		return false;
	ret->every = strtoll(every, &end, 10);
	if (*end || !every_is(ret->every))
		return false;
	return parse_list(arena, nodes, ret->nodes, &ret->n) &&
	       parse_list(arena, text, ret->owed, &ret->n_owed);
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

static char *format_list(struct arena *arena, char *text, char before, const char *const *list,
			 size_t n)
{
	for (size_t i = 0; i < n; i++)
		text = arena_printf(arena, "%s%c%s", text, i ? ',' : before,
				    escape_text(arena, list[i]));
	return text;
}

char *members_format(struct arena *arena, const struct members *members)
{
	char *text = arena_printf(arena, "%s:%" PRId64, members->lineage, members->every);

	if (!members->n)
		return arena_strdup(arena, "-");
	text = format_list(arena, text, ':', members->nodes, members->n);
	return format_list(arena, text, ':', members->owed, members->n_owed);
}

bool members_have(const struct members *members, const char *node)
{
	return list_has(members->nodes, members->n, node);
}

bool members_owe(const struct members *members, const char *node)
{
	return list_has(members->owed, members->n_owed, node);
}

bool members_add(struct members *members, const char *node)
{
	if (!list_add(members->nodes, &members->n, node))
		return false;
	list_remove(members->owed, &members->n_owed, node);
	return true;
}

void members_remove(struct members *members, const char *node)
{
	list_remove(members->nodes, &members->n, node);
	list_remove(members->owed, &members->n_owed, node);
}

bool members_give_up(struct members *members, const char *node)
{
	if (!list_add(members->owed, &members->n_owed, node))
		return false;
	list_remove(members->nodes, &members->n, node);
	return true;
}

void members_put_first(struct members *members, const char *node)
{
	size_t at = 0;

	while (at < members->n && strcmp(members->nodes[at], node) != 0)
		at++;
	if (at == members->n)
		return;
	node = members->nodes[at];
	memmove(members->nodes + 1, members->nodes, at * sizeof(*members->nodes));
	members->nodes[0] = node;
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
