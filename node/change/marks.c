/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Reading the marks of unfinished changes.
 *
 * Invariant: a dataset without a local id is no volume, so its mark does not count. All datasets
 * are read before the first mark is handed on, because no row is certain before the last one.
 */
#include "node/change/marks.h"

#include <string.h>

#include "common/log.h"
#include "common/volume/escape.h"
#include "node/record/dataset.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_table.h"

static bool has(const struct zfs_table *table, const char *name)
{
	for (size_t i = 0; i < table->n; i++)
		if (strcmp(table->rows[i].name, name) == 0)
			return true;
	return false;
}

/*
 * Returns true if a damaged dataset may be that of a volume in the middle of a change: it has a
 * name in the trash that a rollback or a detach gives (swap.c), and there is no such volume.
 */
static bool may_be_missing(struct arena *arena, const char *parent, const char *name,
			   const struct zfs_table *table)
{
	const char *leaf = strrchr(name, '/');
	int length;

	if (!dataset_is_trash(parent, name))
		return false;
	if (strncmp(leaf, "/new-", 5) == 0)
		length = (int)strlen(leaf + 5);
	else if (strncmp(leaf, "/old-", 5) == 0)
		length = (int)(strrchr(leaf, '-') - leaf) - 5;
	else
		return false;
	return length <= 0 || !has(table, arena_printf(arena, "%s/%.*s", parent, length, leaf + 5));
}

static int skip(struct arena *arena, const char *parent, const char *name,
		const struct zfs_table *table, struct error *err)
{
	zfs_fail_damaged(name, err);
	if (may_be_missing(arena, parent, name, table))
		return -1;
	log_warn("a dataset is left out because of a property's value", log_str("dataset", name),
		 log_str("error", err->text));
	return 0;
}

int marks_each(struct arena *arena, const char *parent, const char *property, marks_fn *fn,
	       void *arg, struct error *err)
{
	const struct zfs_query query = {
		.words = (const char *const[]){"-d", "2", "-t", "filesystem,volume", NULL},
		.properties = arena_printf(arena, "zcsi:volume,%s", property),
		.names = (const char *const[]){parent, NULL}};
	struct zfs_table table;

	if (zfs_table_read(arena, &query, &table, err) < 0)
		return -1;
	for (size_t i = 0; i < table.n; i++) {
		const struct zfs_fields *row = &table.rows[i];
		const char *id = zfs_fields_text(row, "zcsi:volume");
		const struct mark mark = {row->name, unescape_text(arena, id),
					  zfs_fields_text(row, property)};
		if (row->damaged && skip(arena, parent, row->name, &table, err) < 0)
			return -1;
		if (*id && mark.id && *mark.value && fn(arg, &mark, err) < 0)
			return -1;
	}
	return 0;
}
