/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Output of `zfs get` for tests of modules that read it with node/zfs/zfs_table.h. A test program
 * includes this file once, as scripted_rounds.c.
 *
 * A test has it as lines "name\tproperty\tvalue", or as lines of columns. "\\n" in a value stands
 * for a line break, and "\\t" for a tab. A value has the source "local", or "inherited" if it
 * begins with "^".
 */

#include <string.h>

#include "common/mem.h"
#include "node/zfs/zfs_table.h"
#include "tests/cmocka.h"

/* Returns the value with its source, as zfs prints them. */
static inline const char *zfs_table_value(struct arena *memory, const char *property,
					  const char *value)
{
	bool inherited = *value == '^', none = !strcmp(value, "-") || !strcmp(property, "type");
	char *text = arena_strdup(memory, value + inherited), *at;
	const char *source = inherited ? "inherited from t/p" : "local";

	while ((at = strchr(text, '\\'))) {
		*at = at[1] == 'n' ? '\n' : '\t';
		memmove(at + 1, at + 2, strlen(at + 2) + 1);
	}
	return arena_printf(memory, "%s\t%s", text, none ? "-" : source);
}

/* Returns the lines that zfs prints of a name, from the lines of a test. */
static inline char *zfs_table_row(struct arena *memory, const char *properties, const char *lines,
				  const char *name)
{
	char *list = arena_strdup(memory, properties), *state, *row = arena_strdup(memory, "");

	for (char *word = strtok_r(list, ",", &state); word; word = strtok_r(NULL, ",", &state)) {
		const char *begins = arena_printf(memory, "\n%s\t%s\t", name, word);
		const char *line = strstr(lines, begins), *value = "-";
		if (line)
			line += strlen(begins);
		else if (strcmp(word, "type") == 0)
			value = strchr(name, '@') ? "snapshot" : "filesystem";
		if (line)
			value = arena_printf(memory, "%.*s", (int)strcspn(line, "\n"), line);
		row = arena_printf(memory, "%s%s\t%s\t%s\n", row, name, word,
				   zfs_table_value(memory, word, value));
	}
	return row;
}

/* Returns what zfs prints of a list of properties, from lines "name\tproperty\tvalue". */
static inline char *zfs_table_output(struct arena *memory, const char *properties,
				     const char *lines)
{
	char *whole = arena_strdup(memory, "");
	const char *last = "";

	lines = arena_printf(memory, "\n%s", lines);
	for (const char *line = lines + 1; *line; line += strcspn(line, "\n") + 1) {
		const char *name = arena_printf(memory, "%.*s", (int)strcspn(line, "\t"), line);
		if (strcmp(name, last) != 0)
			whole = arena_printf(memory, "%s%s", whole,
					     zfs_table_row(memory, properties, lines, name));
		last = name;
	}
	return whole;
}

/* Returns lines "name\tproperty\tvalue" from lines of columns, of which the first is the name. */
static inline char *zfs_table_lines(struct arena *memory, const char *columns, const char *text)
{
	char *rows = arena_strdup(memory, text), *row, *lines = arena_strdup(memory, "");

	while (*text && (row = strsep(&rows, "\n"))) {
		char *list = arena_strdup(memory, columns), *column, *value = NULL;
		const char *name = strsep(&row, "\t");
		while (row && (column = strsep(&list, ",")) && (value = strsep(&row, "\t")))
			lines = arena_printf(memory, "%s%s\t%s\t%s\n", lines, name, column, value);
	}
	return lines;
}

/* Returns the table of lines of columns, of which the first is the name. */
static inline struct zfs_table zfs_table_of(struct arena *memory, const char *columns,
					    const char *text)
{
	const char *properties = arena_printf(memory, "zcsi:m,%s,type", columns);
	const char *lines = zfs_table_lines(memory, columns, text);
	struct zfs_table table;

	assert_true(zfs_table_parse(memory, properties, zfs_table_output(memory, properties, lines),
				    &table));
	return table;
}

/* Returns the properties that a `zfs get` of zfs_table_read() is to print. */
static inline const char *zfs_table_asked(const char *const *argv)
{
	while (*argv && strcmp(*argv, "name,property,value,source") != 0)
		argv++;
	assert_non_null(*argv);
	return argv[1];
}

/* Returns what a program of zfs_table_names() prints of lines "name\tproperty\tvalue". */
static inline char *zfs_table_set(struct arena *memory, const char *lines)
{
	char *names = arena_strdup(memory, "");

	for (const char *line = lines; *line; line += strcspn(line, "\n") + 1) {
		const char *at = strchr(line, '\t') + 1;
		names = arena_printf(memory, "%s%.*s\n", names, (int)strcspn(at, "\t"), at);
	}
	return names;
}

/* Returns what the reader's program of these words prints of lines "name\tproperty\tvalue". */
static inline char *zfs_table_reply(struct arena *memory, const char *const *argv,
				    const char *lines)
{
	for (const char *const *word = argv; *word; word++)
		if (strcmp(*word, "property") == 0)
			return zfs_table_set(memory, lines);
	return zfs_table_output(memory, zfs_table_asked(argv), lines);
}
