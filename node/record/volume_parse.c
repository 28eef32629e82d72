/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Turning rows of `zfs get` into volumes and snapshots.
 *
 * Invariant: a result is always a volume or a snapshot of zcsi. The name of the dataset must be the
 * one that dataset_name returns for its id, so a dataset that was renamed by hand is no volume.
 *
 * While a volume is renamed, zcsi:volume has two ids, "<old>,<new>", and the name of the dataset
 * decides which of them counts. So one `zfs rename` changes the id of the volume and of all its
 * snapshots.
 */
#include "node/record/volume_parse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/volume/escape.h"

static uint64_t guid_of(const struct zfs_row *row)
{
	return row->guid ? strtoull(row->guid, NULL, 10) : 0;
}

/* Returns "" for "-", which zcsi writes for an empty value because zfs-fuse refuses that. */
static char *unset_to_empty(const char *value)
{
	return (char *)(value && strcmp(value, "-") ? value : "");
}

static char *unescaped(struct arena *arena, const char *escaped)
{
	char *text = escaped ? unescape_text(arena, escaped) : NULL;

	return text ? text : arena_strdup(arena, "");
}

char *volume_ids(struct arena *arena, const char *id, const char *new_id)
{
	return arena_printf(arena, "%s,%s", escape_text(arena, id), escape_text(arena, new_id));
}

/* Returns the id in the value of zcsi:volume, of the dataset with this name; "" if it has none. */
static char *id_of(struct arena *arena, const char *parent, const char *value, const char *name)
{
	const char *comma = value ? strchr(value, ',') : NULL;

	if (!comma)
		return unescaped(arena, value);
	char *id = unescaped(arena, comma + 1);
	if (*id && strcmp(dataset_name(arena, parent, id), name) == 0)
		return id;
	return unescaped(arena, arena_printf(arena, "%.*s", (int)(comma - value), value));
}

/*
 * Returns true if the encryption root is below the parent. The encryption root is then this volume,
 * or the volume that it was cloned from.
 */
static bool has_key(const char *parent, const struct zfs_row *row)
{
	const char *root = row->encryption_root ? row->encryption_root : "";
	size_t length = strlen(parent);

	return !strncmp(root, parent, length) && root[length] == '/';
}

static bool is_version(const struct zfs_row *row)
{
	return row->version && !strcmp(row->version, DATASET_VERSION);
}

/*
 * Returns true for the name that a deletion gives: below the trash, and ending in the guid. A name
 * that an operator chose does not count.
 */
static bool is_trash_name(struct arena *arena, const char *parent, const char *name, uint64_t guid)
{
	const char *tail = arena_printf(arena, "-%" PRIu64, guid);
	size_t length = strlen(name), after = strlen(tail);

	return dataset_is_trash(parent, name) && length > after &&
	       !strcmp(name + length - after, tail);
}

/* Returns the row's format, or NULL if it is no filesystem and no zvol with a known format. */
static const struct format *format_of(const struct zfs_row *row)
{
	const struct format *format = NULL;

	if (!row->type)
		return NULL;
	if (!strcmp(row->type, "filesystem"))
		return format_find(FORMAT_ZFS);
	if (!strcmp(row->type, "volume") && row->format)
		format = format_find(row->format);
	return format && format->zvol ? format : NULL;
}

/* Returns the second number of zcsi:deleted, which is "SECONDS" or "SECONDS+SECONDS". */
static int64_t keep_of(const struct zfs_row *row)
{
	const char *plus = row->deleted ? strchr(row->deleted, '+') : NULL;

	return plus ? zfs_row_number(plus + 1) : 0;
}

struct dataset *volume_parse(struct arena *arena, const char *parent, const struct zfs_row *row,
			     bool *ret_trashed)
{
	const struct format *format = format_of(row);

	if (!format || !is_version(row))
		return NULL;
	char *id = id_of(arena, parent, row->volume, row->name);
	*ret_trashed = is_trash_name(arena, parent, row->name, guid_of(row));
	if (!*id || (!*ret_trashed && strcmp(dataset_name(arena, parent, id), row->name)))
		return NULL;

	struct dataset *dataset = arena_alloc(arena, sizeof(*dataset));
	*dataset = (struct dataset){
		.id = id,
		.name = (char *)row->name,
		.parameters = unescaped(arena, row->parameters),
		.published = unset_to_empty(row->published),
		.source = unescaped(arena, row->source),
		.root = unset_to_empty(row->root),
		.members = unset_to_empty(row->members),
		.push = unset_to_empty(row->push),
		.schedule = unset_to_empty(row->keep),
		.owner = unset_to_empty(row->owner),
		.staged = unset_to_empty(row->staged),
		.format = format,
		.formatted = *unset_to_empty(row->formatted),
		.was_used = row->published,
		.guid = guid_of(row),
		.size = zfs_row_number(format->zvol ? row->volsize : row->refquota),
		.reserved = zfs_row_number(row->refreservation),
		.used = zfs_row_number(row->used),
		.available = zfs_row_number(row->available),
		.creation = zfs_row_number(row->creation),
		.deleted = zfs_row_number(row->deleted),
		.keep = keep_of(row),
		.epoch = zfs_row_number(row->epoch),
		.has_key = has_key(parent, row),
		.renaming = strchr(row->volume, ','),
	};
	return dataset;
}

/* Set the name and the group, if the snapshot was created by CSI and not by another tool. */
static void name_snapshot(struct arena *arena, const struct zfs_row *row, const char *leaf,
			  struct snapshot *snapshot)
{
	char *name = unescaped(arena, row->snapshot), *group = unescaped(arena, row->group);

	if (!is_version(row) || !*name)
		return;
	if (*group ? !snapshot_leaf_is_group(arena, leaf, group)
		   : !snapshot_leaf_is(arena, leaf, name))
		return;
	snapshot->name = name;
	snapshot->group = group;
	if (row->size)
		snapshot->size = zfs_row_number(row->size);
}

/* The length to which zfs-fuse cuts the name of a dataset in the column `source`. */
#define SOURCE_NAME_MAX 112

static bool is_inherited_from(const struct zfs_row *row, const char *owner)
{
	const char *from = row->inherited_from;

	return from && (!strcmp(from, owner) || (strlen(from) == SOURCE_NAME_MAX &&
						 !strncmp(from, owner, SOURCE_NAME_MAX)));
}

struct snapshot *snapshot_parse(struct arena *arena, const char *parent, const struct zfs_row *row,
				const char *at)
{
	const char *owner = arena_printf(arena, "%.*s", (int)(at - row->name), row->name);

	if (!is_inherited_from(row, owner))
		return NULL;
	char *id = id_of(arena, parent, row->volume_inherited, owner);
	if (!*id || (!dataset_is_trash(parent, owner) &&
		     strcmp(dataset_name(arena, parent, id), owner) != 0))
		return NULL;

	struct snapshot *snapshot = arena_alloc(arena, sizeof(*snapshot));
	*snapshot = (struct snapshot){
		.id = snapshot_id(arena, id, at + 1),
		.name = arena_strdup(arena, ""),
		.group = arena_strdup(arena, ""),
		.dataset_id = id,
		.zfs_name = (char *)row->name,
		.guid = guid_of(row),
		.creation = zfs_row_number(row->creation),
		.has_key = has_key(parent, row),
		.size = zfs_row_number(row->volsize),
	};
	name_snapshot(arena, row, at + 1, snapshot);
	return snapshot;
}
