/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_EXPORT_TABLE_H
#define ZCSI_NODE_EXPORT_TABLE_H

/*
 * Tables of NFS exports in the format of exports(5), which zcsi's files and the table of active
 * exports use: lines of "<path> <client>(<options>)". Pure functions; results live in the arena.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/mem.h"

struct export_row {
	const char *path;
	const char *client; /* an IP address */
	bool readonly;
};

struct export_table {
	struct export_row *rows;
	size_t n;
};

/* Parse a text into *ret; lines of another form are left out. */
void export_table_parse(struct arena *arena, const char *text, struct export_table *ret);
/* Print a line for each row, with all options. */
void export_table_print(const struct export_table *table, FILE *out);
/* Returns the options of a row, for exportfs -o. Static text. */
const char *export_options(const struct export_row *row);
/* Returns the operand of exportfs for a row: "10.0.0.2:/path" or "[::1]:/path". */
char *export_operand(struct arena *arena, const struct export_row *row);

/* Returns true if the table has a row with the same path, client and access. */
bool export_table_has(const struct export_table *table, const struct export_row *row);
/* Returns true if the table has a row with the same path and client, read-only or not. */
bool export_table_names(const struct export_table *table, const struct export_row *row);

/* Returns the rows with this path; or, if others is set, the rows with any other path. */
struct export_table export_table_of(struct arena *arena, const struct export_table *table,
				    const char *path, bool others);
/* Returns the rows of the first table followed by those of the second. */
struct export_table export_table_join(struct arena *arena, const struct export_table *one,
				      const struct export_table *other);

#endif
