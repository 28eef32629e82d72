/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Finding the volumes that were given up, by one `zfs get` of all copies on this host, and those
 * without a device, by one `zfs get` of its zvols.
 *
 * Invariant: a name in the output is only a candidate: whether the record of its move still counts
 * is read again (place.c). Only a move sets volmode=none on a volume with copies, so at the start
 * such a volume is one whose move did not end.
 */
#include "node/move/earlier.h"

#include <string.h>

#include "common/log.h"
#include "common/volume/escape.h"
#include "node/attach/device.h"
#include "node/move/place.h"
#include "node/replica/replica.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_table.h"
#include "node/zfs/zfs_run.h"

/* Add a volume to the rows, unless it is one already or its copy has no valid record of a move. */
static int add(struct arena *arena, const char *parent, const char *id, struct earlier *rows,
	       size_t *ret_n, struct error *err)
{
	struct place place;

	for (size_t i = 0; i < *ret_n; i++)
		if (strcmp(rows[i].id, id) == 0)
			return 0;
	if (place_read(arena, parent, id, &place, err) < 0)
		return -1;
	const struct place_snapshot *end = place_marked(&place);
	if (place.role == PLACE_COPY && end)
		rows[(*ret_n)++] = (struct earlier){id, end->to};
	return 0;
}

/*
 * Take the rows of all copies. zfs prints a dataset before its snapshots, so the id of a volume
 * comes before the record of its snapshot.
 */
static int take(struct arena *arena, const char *parent, const struct zfs_table *table,
		struct earlier *rows, size_t *ret_n, struct error *err)
{
	const char *id = NULL, *dataset = "";

	for (size_t i = 0; i < table->n; i++) {
		const struct zfs_fields *row = &table->rows[i];
		size_t length = strcspn(row->name, "@");
		if (!row->name[length]) {
			dataset = row->name;
			id = unescape_text(arena, zfs_fields_text(row, "zcsi:volume"));
		} else if (*zfs_fields_text(row, "zcsi:moving") && id && *id &&
			   strlen(dataset) == length && !strncmp(dataset, row->name, length) &&
			   add(arena, parent, id, rows, ret_n, err) < 0) {
			return -1;
		}
	}
	return 0;
}

static void warn_damaged(const struct zfs_table *table)
{
	struct error damage;

	if (zfs_table_check(table, &damage) < 0)
		log_warn("a move of it is not looked for", log_str("error", damage.text));
}

bool earlier_may_be(void)
{
	return !ssh_server() && zfs_is_the_kernels();
}

int earlier_read(struct arena *arena, const char *parent, struct earlier **ret, size_t *ret_n,
		 struct error *err)
{
	const char *folder = arena_printf(arena, "%s/" REPLICA_FOLDER, parent);
	const struct zfs_query query = {
		.words = (const char *const[]){"-d", "2", "-t", "filesystem,volume,snapshot", NULL},
		.properties = "zcsi:volume,zcsi:moving",
		.names = (const char *const[]){folder, NULL},
		.timeout_ms = zfs_run_list_timeout()};
	struct zfs_table table;

	*ret_n = 0;
	if (zfs_table_read(arena, &query, &table, err) < 0)
		return zfs_is_missing(parent, err);
	warn_damaged(&table);
	*ret = arena_alloc(arena, (table.n + 1) * sizeof(**ret));
	return take(arena, parent, &table, *ret, ret_n, err);
}

static int show(const char *name, struct error *err)
{
	if (device_show(name, err) == 0) {
		log_info("device of a volume is restored after an interrupted move",
			 log_str("dataset", name));
		return 0;
	}
	if (err->code == ERR_UNAVAILABLE)
		return -1;
	log_warn("cannot restore the device of a volume after an interrupted move",
		 log_str("dataset", name), log_str("error", err->text));
	return 0;
}

/*
 * Give each hidden zvol with zcsi:members its device. A hidden zvol without members was hidden by
 * an operator, because it cannot move.
 */
int earlier_show(struct arena *arena, const char *parent, struct error *err)
{
	const struct zfs_query query = {.words = (const char *const[]){"-d", "1", "-t", "volume",
								       NULL},
					.properties = "zcsi:members,volmode",
					.names = (const char *const[]){parent, NULL}};
	struct zfs_table table;

	if (zfs_table_read(arena, &query, &table, err) < 0)
		return -1;
	warn_damaged(&table);
	for (size_t i = 0; i < table.n; i++) {
		const struct zfs_value *volmode = zfs_fields_find(&table.rows[i], "volmode");
		if (volmode && strcmp(volmode->text, "none") == 0 &&
		    strcmp(volmode->source, "local") == 0 &&
		    *zfs_fields_text(&table.rows[i], "zcsi:members") &&
		    show(table.rows[i].name, err) < 0)
			return -1;
	}
	return 0;
}
