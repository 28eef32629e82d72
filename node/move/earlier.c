/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Finding the volumes that were given up, by one `zfs get` of all copies on this host, and those
 * without a device, by one `zfs get` of its zvols.
 *
 * Invariant: a name in the output is only a candidate: whether the record of its move still counts
 * is read again (place.c). If a value is damaged, so that this is not known, the volume is found
 * too, but not moved: it may be nowhere else, so it must not count as missing. Only a move sets
 * volmode=none on a volume with copies, so at the start such a volume is one whose move did not
 * end.
 */
#include "node/move/earlier.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/volume/escape.h"
#include "node/attach/device.h"
#include "node/move/place.h"
#include "node/record/ownership.h"
#include "node/replica/replica.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"
#include "node/zfs/zfs_table.h"

struct found {
	struct arena *arena;
	const char *parent;
	struct earlier *rows;
	size_t n;
};

/* Returns the error text for a row of a copy that has a damaged value, its own or a snapshot's. */
static const char *describe(struct arena *arena, const struct zfs_fields *row)
{
	const char *properties = row->damaged             ? "zcsi:moving, zcsi:volume or zcsi:epoch"
				 : strchr(row->name, '@') ? "zcsi:moving"
							  : "zcsi:volume or zcsi:epoch";

	return arena_printf(arena,
			    "'%s' has a damaged value of %s; look at it with 'zfs get all %s', and "
			    "set it again, or if another node has the volume, remove it with 'zfs "
			    "inherit'",
			    row->name, properties, row->name);
}

/*
 * Add a volume with a damaged record, unless this host has the volume itself. The leaf of a long id
 * is shortened, so the id is not known if it is what is damaged.
 */
static int add_damaged(struct found *found, const char *copy, const char *id,
		       const struct zfs_fields *row, struct error *err)
{
	const char *leaf = strrchr(copy, '/') + 1;
	struct place place = {.role = PLACE_COPY};

	if (!id || !*id)
		id = unescape_text(found->arena, leaf);
	if (id && place_read(found->arena, found->parent, id, &place, err) < 0 &&
	    place.role == PLACE_NONE)
		return -1;
	if (place.role == PLACE_COPY)
		found->rows[found->n++] =
			(struct earlier){.leaf = leaf, .why = describe(found->arena, row)};
	return 0;
}

/* Add a volume, unless it is one already or its copy has no valid record of a move. */
static int add(struct found *found, const char *copy, const char *id, struct error *err)
{
	struct place place;

	for (size_t i = 0; i < found->n; i++)
		if (found->rows[i].id && strcmp(found->rows[i].id, id) == 0)
			return 0;
	int failed = place_read(found->arena, found->parent, id, &place, err);
	if (place.role != PLACE_COPY)
		return place.role == PLACE_NONE ? failed : 0;
	const struct place_snapshot *end = failed ? NULL : place_marked(&place);
	if (failed)
		found->rows[found->n++] =
			(struct earlier){.leaf = strrchr(copy, '/') + 1,
					 .why = arena_strdup(found->arena, err->text)};
	else if (end)
		found->rows[found->n++] = (struct earlier){.id = id, .to = end->to};
	return 0;
}

/*
 * Take the rows of one copy and of its snapshots. A record of an epoch that the copy has, or has
 * had, has no meaning any more.
 */
static int take_copy(struct found *found, const struct zfs_fields *rows, size_t n,
		     struct error *err)
{
	const char *text = zfs_fields_text(rows, "zcsi:volume"), *to;
	const char *id = unescape_text(found->arena, text);
	char *end;
	int64_t since = strtoll(zfs_fields_text(rows, "zcsi:epoch"), &end, 10), epoch;
	bool recorded = false;

	if (!*text && !rows->damaged)
		return 0;
	for (size_t i = 1; i < n; i++) {
		const char *moving = zfs_fields_text(&rows[i], "zcsi:moving");
		if (!*moving && !rows[i].damaged)
			continue;
		if (!mark_parse(found->arena, moving, &to, &epoch))
			return add_damaged(found, rows->name, id, &rows[i], err);
		recorded |= epoch > since;
	}
	if (!recorded)
		return 0;
	return id && *id && !*end ? add(found, rows->name, id, err)
				  : add_damaged(found, rows->name, id, rows, err);
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
		.properties = "zcsi:volume,zcsi:epoch,zcsi:moving",
		.names = (const char *const[]){folder, NULL}};
	struct found found = {.arena = arena, .parent = parent};
	struct zfs_table table;

	*ret_n = 0;
	if (zfs_table_read(arena, &query, &table, err) < 0)
		return zfs_is_missing(parent, err);
	found.rows = arena_alloc(arena, (table.n + 1) * sizeof(*found.rows));
	for (size_t i = 0, end; i < table.n; i = end) {
		end = zfs_table_end(&table, i);
		if (take_copy(&found, &table.rows[i], end - i, err) < 0)
			return -1;
	}
	*ret = found.rows;
	*ret_n = found.n;
	return 0;
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
	struct error damage;

	if (zfs_table_read(arena, &query, &table, err) < 0)
		return -1;
	if (zfs_table_check(&table, &damage) < 0)
		log_warn("it is not known whether a move has hidden the device of a volume",
			 log_str("error", damage.text));
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
