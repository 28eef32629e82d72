/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_ZFS_TABLE_H
#define ZCSI_NODE_ZFS_ZFS_TABLE_H

/*
 * Reading any properties of any datasets and snapshots, by one `zfs get`, into rows that no value
 * of a user property can forge (node/record/zfs_rows.h). Any thread; blocks.
 */

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/mem.h"
#include "node/record/zfs_rows.h"

struct zfs_query {
	/*
	 * Options of `zfs get`: "-d", "1"; NULL ends them, or is it. A program with options may
	 * read many snapshots, and has zfs_run_list_timeout().
	 */
	const char *const *words;
	const char *properties;   /* the list, which may be empty; each row has `type` too */
	const char *const *names; /* NULL ends them */
};

struct zfs_table {
	struct zfs_fields *rows; /* in the order of zfs: snapshots behind their dataset, by age */
	size_t n;
};

/*
 * *ret has a row for each name that zfs prints, in the arena. A row has no value for a property
 * that the name does not have. *ret is filled in after ERR_NOT_FOUND too, which zfs reports if one
 * of several names does not exist. Returns 0, or -1 with *err.
 */
int zfs_table_read(struct arena *arena, const struct zfs_query *query, struct zfs_table *ret,
		   struct error *err);
/*
 * *ret is the row of one name. Returns 0, or -1 with *err, also if the row is damaged, which
 * ret->damaged then distinguishes from other errors.
 */
int zfs_table_one(struct arena *arena, const char *name, const char *properties,
		  struct zfs_fields *ret, struct error *err);
/*
 * *ret is the list of the properties that are set on a name itself, local and received ones. With
 * words, as in a query, it is that of all names that zfs finds by them. Returns 0, or -1 with *err,
 * which is ERR_FAILED_PRECONDITION if the list is too long for a query.
 */
int zfs_table_names(struct arena *arena, const char *const *words, const char *name, char **ret,
		    struct error *err);
/*
 * Parse what `zfs get` prints of a list of properties, which begins with a marker and ends with
 * `type`. The text is cut up, and not needed any more. Returns false if the output is rejected. For
 * tests.
 */
bool zfs_table_parse(struct arena *arena, const char *properties, char *text,
		     struct zfs_table *ret);
/* Returns true for the row of a dataset, or of a snapshot of it. */
bool zfs_table_is_of(const struct zfs_fields *row, const char *dataset);
/* Returns the index of the row behind those of the dataset in row `first`, and its snapshots. */
size_t zfs_table_end(const struct zfs_table *table, size_t first);
/* Fail because of the first damaged row, if there is one. Returns 0, or -1 with *err. */
int zfs_table_check(const struct zfs_table *table, struct error *err);
/*
 * Log a warning for each dataset that is damaged, or has a damaged snapshot, unless a table before
 * had it damaged too. message: how the caller deals with it.
 */
void zfs_table_warn(const struct zfs_table *table, const char *message);

#endif
