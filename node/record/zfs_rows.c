/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Splitting the output of `zfs get` into rows. The header has the rules and their proof.
 *
 * Invariant: a row that is not damaged has exactly the lines that zfs prints for its name.
 */
#include "node/record/zfs_rows.h"

#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "node/record/zfs_row.h"

/* Cut off the next line. Returns NULL at the end of the output. */
static char *take_line(struct zfs_rows *rows)
{
	char *line = rows->left;
	size_t length = strcspn(line, "\n");

	if (!*line)
		return NULL;
	rows->left += length + (line[length] == '\n');
	line[length] = '\0';
	return line;
}

/* Cut a first line after its name and make it the next row. Returns false for any other line. */
static bool take_name(struct zfs_rows *rows, char *line)
{
	const char *marker = rows->properties[0];
	size_t length = strlen(marker);
	char *tab = strchr(line, '\t');

	if (!tab || strncmp(tab + 1, marker, length) || tab[1 + length] != '\t')
		return false;
	if (strcmp(tab + 1 + length, "\t-\t-") != 0) {
		rows->rejected = true;
		return false;
	}
	*tab = '\0';
	rows->name = line;
	return true;
}

void zfs_rows_begin(struct arena *arena, const char *properties, char *text, struct zfs_rows *ret)
{
	char *list = arena_strdup(arena, properties), *state, *line;

	*ret = (struct zfs_rows){.left = text};
	ret->properties = arena_alloc(arena, (strlen(list) + 1) * sizeof(*ret->properties));
	for (char *word = strtok_r(list, ",", &state); word; word = strtok_r(NULL, ",", &state))
		ret->properties[ret->n++] = word;
	for (const char *at = text; (at = strstr(at, ret->properties[0])); at++)
		ret->most++;
	ret->names = arena_alloc(arena, (ret->most + 1) * sizeof(*ret->names));
	while ((line = take_line(ret)) && !take_name(ret, line))
		ret->rejected = true;
}

/*
 * Returns true if the value has a control character. Only a property of another program may have a
 * tab, because zcsi sets no value with one.
 */
static bool has_control(const char *property, const char *value)
{
	bool tabs = strncmp(property, "zcsi:", strlen("zcsi:")) != 0;

	while (*value && (!utf8_control(value) || (tabs && *value == '\t')))
		value++;
	return *value;
}

static bool is_inherited(const char *source)
{
	return strcmp(source, "local") != 0 && strcmp(source, "received") != 0;
}

/*
 * Store line number n of a row. Returns false if it is not the line that zfs prints there, or if a
 * value that is not inherited has a control character. *ret_last: it may be the last line.
 */
static bool take_property(const struct zfs_rows *rows, size_t n, char *line, struct zfs_fields *row,
			  bool *ret_last)
{
	char *property, *value, *source;

	*ret_last = false;
	if (!zfs_row_split(line, &property, &value, &source) || strcmp(line, row->name))
		return false;
	*ret_last = !strcmp(property, rows->properties[rows->n - 1]);
	if (n >= rows->n || strcmp(property, rows->properties[n]) ||
	    (!is_inherited(source) && has_control(property, value)))
		return false;
	row->values[n] = (struct zfs_value){property, value, source};
	return true;
}

bool zfs_rows_next(struct zfs_rows *rows, struct zfs_fields *ret)
{
	bool damaged = false, last = false;
	size_t n = 1;
	char *line;

	if (!rows->name)
		return false;
	*ret = (struct zfs_fields){.name = rows->name, .values = ret->values, .n = rows->n};
	rows->names[rows->n_names++] = rows->name;
	rows->name = NULL;
	while ((line = take_line(rows)) && !take_name(rows, line))
		damaged |= !take_property(rows, n++, line, ret, &last);
	rows->rejected |= !last;
	if (damaged || n != rows->n)
		*ret = (struct zfs_fields){
			.name = ret->name, .values = ret->values, .damaged = true};
	return true;
}

const struct zfs_value *zfs_fields_find(const struct zfs_fields *row, const char *property)
{
	for (size_t i = 1; i < row->n; i++)
		if (!strcmp(row->values[i].property, property))
			return &row->values[i];
	return NULL;
}

char *zfs_fields_text(const struct zfs_fields *row, const char *property)
{
	const struct zfs_value *found = zfs_fields_find(row, property);

	if (!found || (strchr(property, ':') && strcmp(found->source, "local") != 0))
		return (char *)"";
	return zfs_row_text(found->text);
}

static int compare(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

bool zfs_rows_accepted(struct zfs_rows *rows)
{
	qsort(rows->names, rows->n_names, sizeof(*rows->names), compare);
	for (size_t i = 1; i < rows->n_names; i++)
		rows->rejected |= !strcmp(rows->names[i - 1], rows->names[i]);
	return !rows->rejected;
}
