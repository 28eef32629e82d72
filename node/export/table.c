/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tables of NFS exports: parsing, printing, comparing.
 *
 * Invariant: a path contains only a volume's ZFS name, and a client is an IP address. Neither has a
 * blank, a quote or a parenthesis, so nothing is quoted, and a quoted entry is not one of zcsi.
 */
#include "node/export/table.h"

#include <string.h>

/*
 * The options of all exports. no_root_squash: root in a container may act as root on its volume.
 * mountpoint: a path is exported only while something is mounted there; otherwise a host that has
 * just booted would export an empty directory.
 */
#define OPTIONS "sync,no_subtree_check,no_root_squash,sec=sys,mountpoint"

static const char *const options[] = {"rw," OPTIONS, "ro," OPTIONS};

const char *export_options(const struct export_row *row)
{
	return options[row->readonly];
}

char *export_operand(struct arena *arena, const struct export_row *row)
{
	return arena_printf(arena, strchr(row->client, ':') ? "[%s]:%s" : "%s:%s", row->client,
			    row->path);
}

static bool parse_line(char *line, struct export_row *ret)
{
	char *path = strsep(&line, " \t");
	char *client = line ? strsep(&line, "(") : NULL;

	if (!line || *path != '/' || !*client)
		return false;
	*ret = (struct export_row){path, client, !strncmp(line, "ro", 2)};
	return true;
}

void export_table_parse(struct arena *arena, const char *text, struct export_table *ret)
{
	char *rest = arena_strdup(arena, text), *line;
	size_t lines = 1;

	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	*ret = (struct export_table){.rows = arena_alloc(arena, lines * sizeof(*ret->rows))};
	while ((line = strsep(&rest, "\n")) != NULL)
		if (parse_line(line, &ret->rows[ret->n]))
			ret->n++;
}

void export_table_print(const struct export_table *table, FILE *out)
{
	for (size_t i = 0; i < table->n; i++)
		fprintf(out, "%s %s(%s)\n", table->rows[i].path, table->rows[i].client,
			export_options(&table->rows[i]));
}

static const struct export_row *find(const struct export_table *table, const struct export_row *row)
{
	for (size_t i = 0; i < table->n; i++)
		if (!strcmp(table->rows[i].path, row->path) &&
		    !strcmp(table->rows[i].client, row->client))
			return &table->rows[i];
	return NULL;
}

bool export_table_names(const struct export_table *table, const struct export_row *row)
{
	return find(table, row);
}

bool export_table_has(const struct export_table *table, const struct export_row *row)
{
	const struct export_row *found = find(table, row);

	return found && found->readonly == row->readonly;
}

struct export_table export_table_of(struct arena *arena, const struct export_table *table,
				    const char *path, bool others)
{
	struct export_table part = {
		.rows = arena_alloc(arena, (table->n + 1) * sizeof(*part.rows))};

	for (size_t i = 0; i < table->n; i++)
		if (!strcmp(table->rows[i].path, path) != others)
			part.rows[part.n++] = table->rows[i];
	return part;
}

struct export_table export_table_join(struct arena *arena, const struct export_table *one,
				      const struct export_table *other)
{
	struct export_table both = {
		.rows = arena_alloc(arena, (one->n + other->n + 1) * sizeof(*both.rows))};

	for (size_t i = 0; i < one->n; i++)
		both.rows[both.n++] = one->rows[i];
	for (size_t i = 0; i < other->n; i++)
		both.rows[both.n++] = other->rows[i];
	return both;
}
