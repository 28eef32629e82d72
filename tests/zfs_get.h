/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TESTS_ZFS_GET_H
#define ZCSI_TESTS_ZFS_GET_H

/* Output of `zfs get` for tests of its parser. */

#include <string.h>

#include "common/mem.h"
#include "node/record/zfs_row.h"

#define MARKER "zcsi:m"

/* Returns the first line of the text that begins with `beginning`, such as "name\tproperty\t", or
 * NULL. The result also contains all lines after the found one. */
static const char *zfs_get_line(const char *text, const char *beginning)
{
	for (; text; text = strchr(text, '\n'), text = text ? text + 1 : NULL)
		if (!strncmp(text, beginning, strlen(beginning)))
			return text;
	return NULL;
}

/* Returns the lines that `zfs get` prints for one name: for each property the line of the text, or
 * the value "-" if the text has none. */
static char *zfs_get_row(struct arena *memory, const char *text, const char *name)
{
	char *list = zfs_row_properties(memory, MARKER, true), *state;
	char *row = arena_strdup(memory, "");

	for (char *word = strtok_r(list, ",", &state); word; word = strtok_r(NULL, ",", &state)) {
		const char *beginning = arena_printf(memory, "%s\t%s\t", name, word);
		const char *line = zfs_get_line(text, beginning);
		row = line ? arena_printf(memory, "%s%.*s\n", row, (int)strcspn(line, "\n"), line)
			   : arena_printf(memory, "%s%s-\t-\n", row, beginning);
	}
	return row;
}

/* Returns a text of lines "name\tproperty\tvalue\tsource\n" completed: each name has the lines of
 * all properties, with the value "-" for those that the text does not have. */
static char *zfs_get_complete(struct arena *memory, const char *text)
{
	char *whole = arena_strdup(memory, "");
	const char *last = "";

	for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
		const char *name = arena_printf(memory, "%.*s", (int)strcspn(line, "\t"), line);
		if (strcmp(name, last) != 0)
			whole = arena_printf(memory, "%s%s", whole,
					     zfs_get_row(memory, text, name));
		last = name;
	}
	return whole;
}

#endif
