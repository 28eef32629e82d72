/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_PRINT_TABLE_H
#define ZCSI_CLI_PRINT_TABLE_H

/*
 * The output of a command: rows under columns, printed for people, for other programs (-H, -p), or
 * as JSON (-o json). Texts of agents are printed without control characters, since these could
 * change the terminal.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/mem.h"

enum cell_kind {
	CELL_TEXT,
	CELL_WORDS, /* several texts, with commas between */
	CELL_BYTES,
	CELL_MOMENT, /* seconds since 1970 */
	CELL_COUNT,
};

struct column {
	const char *name; /* "used": USED as a heading, "used" in JSON */
	enum cell_kind kind;
};

struct cell {
	const char *text;         /* CELL_TEXT; NULL: nothing */
	const char *const *words; /* CELL_WORDS, ends with NULL; NULL: nothing */
	int64_t number;           /* the other kinds; negative: nothing */
};

struct table {
	const char *name; /* the key of the rows in JSON, such as "volumes" */
	const struct column *columns;
	size_t n_columns;
	const struct cell *cells; /* n_rows times n_columns */
	size_t n_rows;
	bool is_record; /* the table has one row, printed as a line for each column */
};

struct style {
	bool bare;  /* -H: no heading, tabs between columns */
	bool exact; /* -p: bytes and seconds as numbers */
	bool json;  /* -o json */
};

/* An agent that did not answer, for JSON. */
struct silence {
	const char *agent, *error;
};

/* Print a table. JSON also has its version, and the agents whose rows are missing. */
void table_print(FILE *out, const struct table *table, const struct style *style,
		 const struct silence *silences, size_t n_silences);
/*
 * Print one row of a table, as table_print does but never as JSON; if `first`, print the heading
 * before the row. The columns are as wide as all rows of the table need; the last column of other
 * rows need not be known yet.
 */
void table_print_row(FILE *out, const struct table *table, const struct style *style, size_t row,
		     bool first);

#endif
