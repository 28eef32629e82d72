/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Reading all copies with one `zfs get`, which prints the snapshots of a copy behind it.
 *
 * Invariant: a dataset counts only if it has the name of the copy of its volume, and if neither it
 * nor a snapshot of it is damaged. GetCopy reports what is damaged.
 */
#include "node/replica/held.h"

#include <stdlib.h>
#include <string.h>

#include "common/volume/escape.h"
#include "node/replica/replica.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"
#include "node/zfs/zfs_table.h"

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct held *)a)->id, ((const struct held *)b)->id);
}

/* Add the copy that these rows are of: a dataset and its snapshots. */
static void add(struct arena *arena, const char *parent, const struct zfs_table *rows,
		struct held_list *list)
{
	const char *text = zfs_fields_text(rows->rows, "zcsi:volume");
	const char *id = unescape_text(arena, text);

	if (!id || !*id || strcmp(rows->rows->name, replica_name(arena, parent, id)) != 0)
		return;
	CopyState *copy = replica_parse(arena, rows, 1);
	if (copy)
		list->rows[list->n++] = (struct held){id, copy};
}

void held_parse(struct arena *arena, const char *parent, const struct zfs_table *table,
		struct held_list *ret)
{
	size_t end;

	*ret = (struct held_list){.rows = arena_alloc(arena, (table->n + 1) * sizeof(*ret->rows))};
	for (size_t i = 0; i < table->n; i = end) {
		end = zfs_table_end(table, i);
		add(arena, parent, &(const struct zfs_table){&table->rows[i], end - i}, ret);
	}
	qsort(ret->rows, ret->n, sizeof(*ret->rows), by_id);
}

bool held_possible(void)
{
	return !ssh_server() && zfs_is_the_kernels();
}

int held_read(struct arena *arena, const char *parent, bool snapshots, struct held_list *ret,
	      struct error *err)
{
	const char *folder = arena_printf(arena, "%s/" REPLICA_FOLDER, parent);
	const char *types = snapshots ? "filesystem,volume,snapshot" : "filesystem,volume";
	const struct zfs_query query = {
		.words = (const char *const[]){"-d", snapshots ? "2" : "1", "-t", types, NULL},
		.properties = arena_printf(arena, "zcsi:volume,%s", replica_columns),
		.names = (const char *const[]){folder, NULL}};
	struct zfs_table table;

	*ret = (struct held_list){.n = 0};
	if (zfs_table_read(arena, &query, &table, err) < 0)
		return zfs_is_missing(parent, err);
	held_parse(arena, parent, &table, ret);
	return 0;
}

const CopyState *held_find(const struct held_list *list, const char *id)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->rows[i].id, id) == 0)
			return list->rows[i].copy;
	return NULL;
}
