/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_EXPORT_TABLE_H
#define ZCSI_NODE_EXPORT_TABLE_H

/*
 * Exports as exports(5) writes them, in our files and in the kernel's table: "<path>
 * <client>(<options>)". Pure; results live in the arena.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/mem.h"

struct export_row {
	const char *path;
	const char *client; /* an address */
	bool readonly;
};

struct export_table {
	struct export_row *rows;
	size_t n;
};

/* Lines of another form are left out. */
void export_table_parse(struct arena *arena, const char *text, struct export_table *ret);
/* A line for each, with all the options that ours have. */
void export_table_print(const struct export_table *table, FILE *out);
/* The options of one, for exportfs -o. */
const char *export_options(const struct export_row *row);
/* "10.0.0.2:/path" */
char *export_operand(struct arena *arena, const struct export_row *row);

bool export_table_has(const struct export_table *table, const struct export_row *row);
/* The same path and client, whatever may be done. */
bool export_table_names(const struct export_table *table, const struct export_row *row);

/* The rows for this path, or those for all the others. */
struct export_table export_table_of(struct arena *arena, const struct export_table *table,
				    const char *path, bool others);
/* Returns the rows of one table after those of the other. */
struct export_table export_table_join(struct arena *arena, const struct export_table *one,
				      const struct export_table *other);

#endif
