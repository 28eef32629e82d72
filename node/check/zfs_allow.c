/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Searching the output of `zfs allow`: a headline for each kind of permissions, followed by
 * indented lines with a grantee and permissions. The lists of the dataset's ancestors follow its
 * own list.
 *
 * Invariant: only permissions for both the dataset and its descendants count, whether they were
 * given on the dataset or on an ancestor. Permissions that a user gets by creating a dataset do not
 * count, because other users may have created some of the volumes.
 */
#include "node/check/zfs_allow.h"

#include <string.h>

#define COUNTS   "Local+Descendent permissions:"
#define SETS_MAX 4 /* how deeply sets may contain sets */

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return line + (*line == '\n');
}

/* Returns true if the text begins with this word. */
static bool is_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	return !strncmp(text, word, length) && strchr(" ,\n", text[length]);
}

static const char *next_word(const char *text)
{
	text += strcspn(text, " ,\n");
	return text + strspn(text, " ,");
}

/*
 * Returns true if a list like "create,destroy,@more\n" has the permission, itself or in a set that
 * `all` defines; depth: how many more levels of sets to search.
 */
static bool holds(const char *all, const char *list, const char *permission, int depth)
{
	for (; *list && *list != '\n'; list = next_word(list)) {
		if (is_word(list, permission))
			return true;
		if (*list != '@' || !depth)
			continue;
		size_t length = strcspn(list, " ,\n");
		for (const char *line = all; *line; line = next_line(line))
			if (*line == '\t' && !strncmp(line + 1, list, length) &&
			    line[1 + length] == ' ' &&
			    holds(all, line + 1 + length + 1, permission, depth - 1))
				return true;
	}
	return false;
}

/*
 * Returns the list in a line "user NAME LIST", "group NAME LIST" or "everyone LIST"; NULL if the
 * line is for another user or group.
 */
static const char *list_for(const char *line, const struct grantee *who)
{
	const char *second = next_word(line);

	if (is_word(line, "everyone"))
		return second;
	if (is_word(line, "user") && is_word(second, who->user))
		return next_word(second);
	for (size_t i = 0; is_word(line, "group") && i < who->n_groups; i++)
		if (is_word(second, who->groups[i]))
			return next_word(second);
	return NULL;
}

bool zfs_allows(const char *text, const struct grantee *who, const char *permission)
{
	bool counts = false;

	for (const char *line = text; *line; line = next_line(line)) {
		if (*line != '\t') {
			counts = !strncmp(line, COUNTS, strlen(COUNTS));
			continue;
		}
		const char *list = counts ? list_for(line + 1, who) : NULL;
		if (list && holds(text, list, permission, SETS_MAX))
			return true;
	}
	return false;
}
