/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Reading the place of a volume with `zfs get`.
 *
 * Invariant: the place is read from ZFS each time, and nothing of it is cached, so a step of a move
 * depends on nothing but the pool. A record of a move counts only on a snapshot itself, not if it
 * is inherited.
 */
#include "node/move/place.h"

#include <stdlib.h>
#include <string.h>

#include "node/record/dataset.h"
#include "node/record/ownership.h"
#include "node/replica/replica.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_table.h"

static const char properties[] = "guid,written,clones,volmode,refreservation,receive_resume_token,"
				 "encryptionroot,zcsi:epoch,zcsi:moving,zcsi:members";

static void add_snapshot(struct arena *arena, const struct zfs_fields *row, struct place *place)
{
	struct place_snapshot *snapshot = &place->snapshots[place->n++];

	*snapshot = (struct place_snapshot){
		.name = row->name,
		.guid = strtoull(zfs_fields_text(row, "guid"), NULL, 10),
		.written = strtoll(zfs_fields_text(row, "written"), NULL, 10),
		.cloned = *zfs_fields_text(row, "clones")};
	if (!mark_parse(arena, zfs_fields_text(row, "zcsi:moving"), &snapshot->to,
			&snapshot->epoch))
		snapshot->to = NULL;
}

/* Look at the type first, because ZFS prints a volmode for a filesystem too. */
static enum place_device device_of(const struct zfs_fields *row)
{
	if (strcmp(zfs_fields_text(row, "type"), "volume") != 0)
		return DEVICE_NONE;
	return strcmp(zfs_fields_text(row, "volmode"), "none") == 0 ? DEVICE_HIDDEN : DEVICE_SHOWN;
}

/* Returns false if the record of the members cannot be read. */
static bool take_dataset(struct arena *arena, const struct zfs_fields *row, struct place *place)
{
	const char *key = zfs_fields_text(row, "encryptionroot");

	place->name = row->name;
	place->device = device_of(row);
	place->reserved = strtoll(zfs_fields_text(row, "refreservation"), NULL, 10) > 0;
	place->written = strtoll(zfs_fields_text(row, "written"), NULL, 10);
	place->token = *zfs_fields_text(row, "receive_resume_token");
	place->encrypted = *key;
	place->foreign_key = *key && strcmp(key, row->name) != 0;
	place->epoch = strtoll(zfs_fields_text(row, "zcsi:epoch"), NULL, 10);
	return members_parse(arena, zfs_fields_text(row, "zcsi:members"), &place->members);
}

bool place_parse(struct arena *arena, const char *dataset, const struct zfs_table *table,
		 struct place *ret)
{
	size_t length = strlen(dataset);

	*ret = (struct place){.snapshots =
				      arena_alloc(arena, (table->n + 1) * sizeof(*ret->snapshots))};
	for (size_t i = 0; i < table->n; i++) {
		const struct zfs_fields *row = &table->rows[i];
		if (strncmp(row->name, dataset, length) == 0 && row->name[length] == '/')
			ret->children++;
		if (!zfs_table_is_of(row, dataset))
			continue;
		if (row->name[length])
			add_snapshot(arena, row, ret);
		else if (!take_dataset(arena, row, ret))
			return false;
	}
	return ret->name;
}

/*
 * *ret_has is true if the dataset has a row. Returns 0, or -1 with *err if its row or that of a
 * snapshot is damaged.
 */
static int look(const struct zfs_table *table, const char *dataset, bool *ret_has,
		struct error *err)
{
	*ret_has = false;
	for (size_t i = 0; i < table->n; i++) {
		if (!zfs_table_is_of(&table->rows[i], dataset))
			continue;
		*ret_has = true;
		if (table->rows[i].damaged)
			return zfs_fail_damaged(table->rows[i].name, err);
	}
	return 0;
}

/*
 * zfs looks for the volume first, and then for the copy. So a rename in between is not missed: a
 * volume that was not there can only have become a copy, unless another program makes it a volume
 * again at the same moment.
 */
int place_read(struct arena *arena, const char *parent, const char *id, struct place *ret,
	       struct error *err)
{
	const char *names[] = {dataset_name(arena, parent, id), replica_name(arena, parent, id)};
	const enum place_role roles[] = {PLACE_PRIMARY, PLACE_COPY};
	const struct zfs_query query = {
		.words = (const char *const[]){"-d", "1", "-t", "filesystem,volume,snapshot", NULL},
		.properties = properties,
		.names = (const char *const[]){names[0], names[1], NULL}};
	struct zfs_table table;
	bool has;

	*ret = (struct place){.role = PLACE_NONE};
	/* zfs fails also if only one of the two names exists, and then prints that one. */
	if (zfs_table_read(arena, &query, &table, err) < 0 &&
	    (err->code != ERR_NOT_FOUND || !table.n))
		return zfs_is_missing(parent, err);
	for (size_t i = 0; i < COUNT(names); i++) {
		int failed = look(&table, names[i], &has, err);
		if (!has)
			continue;
		if (!failed && !place_parse(arena, names[i], &table, ret))
			failed = fail(err, ERR_UNAVAILABLE,
				      "'zfs get' printed of '%s' what is not a volume; look at its "
				      "property zcsi:members",
				      names[i]);
		ret->role = roles[i];
		return failed;
	}
	return fail(err, ERR_UNAVAILABLE, "'zfs get' printed neither '%s' nor '%s'", names[0],
		    names[1]);
}

const struct place_snapshot *place_marked(const struct place *place)
{
	for (size_t i = place->n; i-- > 0;)
		if (place->snapshots[i].to)
			return place->snapshots[i].epoch == place->epoch + 1 ? &place->snapshots[i]
									     : NULL;
	return NULL;
}

const struct place_snapshot *place_snapshot(const struct place *place, uint64_t guid)
{
	for (size_t i = place->n; i-- > 0;)
		if (place->snapshots[i].guid == guid)
			return &place->snapshots[i];
	return NULL;
}

int64_t place_written_after(const struct place *place, const struct place_snapshot *snapshot)
{
	int64_t written = place->written;

	for (const struct place_snapshot *at = snapshot + 1; at < place->snapshots + place->n; at++)
		written += at->written;
	return written;
}

bool place_ends_with(const struct place *place, const struct place_snapshot *snapshot)
{
	return snapshot == place->snapshots + place->n - 1 && place->written == 0;
}
