/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Parsing and formatting marks and zcsi:owner.
 *
 * Invariant: a text with a newer owner never has a boot, so the volume cannot count as this host's.
 */
#include "node/record/ownership.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/volume/escape.h"

#define BOOT  "boot="
#define NEWER "newer="
#define LOST  "lost="

char *mark_format(struct arena *arena, const char *node, int64_t epoch)
{
	return arena_printf(arena, "%s:%" PRId64, escape_text(arena, node), epoch);
}

bool mark_parse(struct arena *arena, const char *text, const char **ret_node, int64_t *ret_epoch)
{
	char *node = arena_strdup(arena, text), *colon = strrchr(node, ':'), *end;

	if (!colon || colon == node || strspn(colon + 1, "0123456789") != strlen(colon + 1))
		return false;
	*colon = '\0';
	*ret_epoch = strtoll(colon + 1, &end, 10);
	*ret_node = unescape_text(arena, node);
	return *ret_node && *ret_epoch > 0;
}

/* Returns what follows the key, or NULL if the word does not begin with the key. */
static char *after(char *word, const char *key)
{
	size_t length = strlen(key);

	return strncmp(word, key, length) == 0 ? word + length : NULL;
}

struct ownership ownership_parse(struct arena *arena, const char *text)
{
	struct ownership ownership = {.boot = "", .newer = ""};
	char *rest = arena_strdup(arena, text), *word, *value;

	while ((word = strsep(&rest, ",")))
		if ((value = after(word, BOOT)))
			ownership.boot = value;
		else if ((value = after(word, NEWER)))
			mark_parse(arena, value, &ownership.newer, &ownership.newer_epoch);
		else if ((value = after(word, LOST)) && (value = unescape_text(arena, value)))
			ownership_lose(&ownership, value);
	if (ownership.newer_epoch)
		ownership.boot = "";
	return ownership;
}

char *ownership_format(struct arena *arena, const struct ownership *ownership)
{
	char *text = arena_strdup(arena, "");

	if (ownership->newer_epoch)
		text = arena_printf(arena, "," NEWER "%s",
				    mark_format(arena, ownership->newer, ownership->newer_epoch));
	else if (*ownership->boot)
		text = arena_printf(arena, "," BOOT "%s", ownership->boot);
	for (size_t i = 0; i < ownership->n_lost; i++)
		text = arena_printf(arena, "%s," LOST "%s", text,
				    escape_text(arena, ownership->lost[i]));
	return *text ? text + 1 : arena_strdup(arena, "-");
}

bool ownership_pass(struct ownership *ownership, const char *node, int64_t epoch)
{
	bool named = strcmp(node, OWNERSHIP_UNKNOWN) != 0;

	if (epoch < ownership->newer_epoch ||
	    (epoch == ownership->newer_epoch &&
	     (!named || strcmp(ownership->newer, OWNERSHIP_UNKNOWN) != 0)))
		return false;
	ownership->newer = node;
	ownership->newer_epoch = epoch;
	return true;
}

bool ownership_has_lost(const struct ownership *ownership, const char *node)
{
	for (size_t i = 0; i < ownership->n_lost; i++)
		if (strcmp(ownership->lost[i], node) == 0)
			return true;
	return false;
}

void ownership_lose(struct ownership *ownership, const char *node)
{
	if (!ownership_has_lost(ownership, node) && ownership->n_lost < MEMBERS_MAX)
		ownership->lost[ownership->n_lost++] = node;
}

void ownership_find(struct ownership *ownership, const char *node)
{
	size_t n = 0;

	for (size_t i = 0; i < ownership->n_lost; i++)
		if (strcmp(ownership->lost[i], node) != 0)
			ownership->lost[n++] = ownership->lost[i];
	ownership->n_lost = n;
}

bool ownership_is_majority(const struct ownership *ownership, const struct members *members,
			   size_t heard)
{
	size_t n = members->n;

	for (size_t i = 0; i < members->n; i++)
		n -= ownership_has_lost(ownership, members->nodes[i]);
	return (heard + 1) * 2 > n;
}
