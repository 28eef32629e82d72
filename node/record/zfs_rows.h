/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_ZFS_ROWS_H
#define ZCSI_NODE_RECORD_ZFS_ROWS_H

/*
 * Splitting the output of `zfs get` into rows, one for each dataset or snapshot, although zfs
 * prints the values of user properties raw, with line breaks. Any thread.
 *
 * The list of properties begins with the marker, a user property that is set nowhere, and ends with
 * a native one. So zfs prints, for each name, a first line "name\tmarker\t-\t-", one line for each
 * other property, and a last line that no user can change. The output is rejected unless
 *
 *	(1) each line with the marker in its second column is a first line, and the output begins
 *	    with one,
 *	(2) the line before each other first line, and the last one of the output, has the name of
 *	    the first line above it, and the last property, and
 *	(3) no two first lines have the same name.
 *
 * Then every first line is genuine. By (1), each name has its genuine first line. Suppose that a
 * value of A contains further ones. Between the last of these and the last line of A is no first
 * line, so by (2) both have the name A. But the genuine first line of A has it too, which
 * contradicts (3). So the lines from one first line to the next are all lines of one name, and no
 * value contains a line break if they are as many as the properties. If they are more, only this
 * name is damaged.
 *
 * The proof does not need a secret marker. A random one prevents that a value, which was set before
 * the marker was chosen, has the output of a whole pool rejected.
 */

#include <stdbool.h>
#include <stddef.h>

#include "common/mem.h"

/* The line of a property, as pointers into the output. */
struct zfs_value {
	const char *property;
	char *text;
	const char *source;
};

struct zfs_fields {
	const char *name;
	bool damaged; /* a value has a line break or another control character; n is 0 then */
	struct zfs_value *values; /* the first one, of the marker, is not filled in */
	size_t n;
};

struct zfs_rows {
	char **properties; /* the first one is the marker */
	size_t n;
	char *name; /* the first line of the next row, cut after the name; NULL at the end */
	char *left; /* the rest of the output, after the line of `name` */
	const char **names;   /* the names of all rows so far */
	size_t n_names, most; /* an upper bound of the number of rows */
	bool rejected;        /* the output breaks rule (1) or (2) */
};

/*
 * Begin to split the output `text`. properties: the list that zfs was run with. The text is cut up
 * in place.
 */
void zfs_rows_begin(struct arena *arena, const char *properties, char *text, struct zfs_rows *ret);
/* *ret is the next row; ret->values has room for rows->n. Returns false after the last row. */
bool zfs_rows_next(struct zfs_rows *rows, struct zfs_fields *ret);
/* Returns true if the output was accepted, after zfs_rows_next has returned false. */
bool zfs_rows_accepted(struct zfs_rows *rows);

/* Returns the value of a property with its source; NULL if the row is damaged or has none. */
const struct zfs_value *zfs_fields_find(const struct zfs_fields *row, const char *property);
/* Returns a value; "" for "-", and for a user property that is not set on the name itself. */
char *zfs_fields_text(const struct zfs_fields *row, const char *property);

#endif
