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
#include "node/zfs/zfs_table.h"

static bool has(const struct zfs_table *table, const char *name)
{
	for (size_t i = 0; i < table->n; i++)
		if (strcmp(table->rows[i].name, name) == 0)
			return true;
	return false;
}

/* Returns true if the name is that of a former dataset of a volume in the trash, of any guid. */
static bool is_former(struct arena *arena, const char *parent, const char *name, const char *leaf)
{
	const char *old = arena_printf(arena, "%s/old-%s", parent, leaf);
	const char *former = dataset_trash_name(arena, parent, old, 0);
	size_t length = strlen(former) - 1;

	return strncmp(name, former, length) == 0 && name[length] &&
	       !name[length + strspn(name + length, "0123456789")];
}

static bool has_former(struct arena *arena, const char *parent, const struct zfs_table *table,
		       const char *leaf)
{
	for (size_t i = 0; i < table->n; i++)
		if (is_former(arena, parent, table->rows[i].name, leaf))
			return true;
	return false;
}

/*
 * Returns true if a damaged dataset in the trash may be that of a volume in the middle of a change:
 * there is no such volume, but its former dataset and the next one, and it is one of these two.
 */
static bool may_be_missing(const struct marks *marks, const char *name,
			   const struct zfs_table *table)
{
	const char *begin = arena_printf(marks->arena, "%s/%s", marks->parent, marks->next);
	size_t length = strlen(begin);

	if (!dataset_is_trash(marks->parent, name))
		return false;
	for (size_t i = 0; i < table->n; i++) {
		const char *next = table->rows[i].name, *leaf = next + length;
		if (strncmp(next, begin, length) != 0 ||
		    has(table, arena_printf(marks->arena, "%s/%s", marks->parent, leaf)))
			continue;
		if (is_former(marks->arena, marks->parent, name, leaf) ||
		    (strcmp(name, next) == 0 &&
		     has_former(marks->arena, marks->parent, table, leaf)))
			return true;
	}
	return false;
}

/* Fail if the volume of a damaged dataset may be missing, else log what is wrong. */
static int skip(const struct marks *marks, const char *name, const struct zfs_table *table,
		struct error *err)
{
	fail(err, ERR_UNAVAILABLE,
	     "'%s' has a line break or another control character in the value of zcsi:volume or "
	     "%s; look at it with 'zfs get all %s', and remove it with 'zfs inherit'",
	     name, marks->property, name);
	if (may_be_missing(marks, name, table))
		return -1;
	log_warn("an unfinished change of a dataset is not looked for", log_str("dataset", name),
		 log_str("error", err->text));
	return 0;
}

int marks_each(const struct marks *marks, marks_fn *fn, void *arg, struct error *err)
{
	const struct zfs_query query = {
		.words = (const char *const[]){"-d", "2", "-t", "filesystem,volume", NULL},
		.properties = arena_printf(marks->arena, "zcsi:volume,%s", marks->property),
		.names = (const char *const[]){marks->parent, NULL}};
	struct zfs_table table;

	if (zfs_table_read(marks->arena, &query, &table, err) < 0)
		return -1;
	for (size_t i = 0; i < table.n; i++) {
		const struct zfs_fields *row = &table.rows[i];
		const char *id = zfs_fields_text(row, "zcsi:volume");
		const struct mark mark = {row->name, unescape_text(marks->arena, id),
					  zfs_fields_text(row, marks->property)};
		if (row->damaged && skip(marks, row->name, &table, err) < 0)
			return -1;
		if (*id && mark.id && *mark.value && fn(arg, &mark, err) < 0)
			return -1;
	}
	return 0;
}
