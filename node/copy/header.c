/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The properties of a volume and of its snapshots, which a stream does not carry.
 *
 * Invariant: only those properties are passed on that a request may set on a volume
 * (node/record/property.h), because the other node accepts no others. Properties that the stream
 * carries, or that are computed from the size, are left out.
 */
#include "node/copy/header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/volume/escape.h"
#include "node/zfs/send_flags.h"
#include "node/record/members.h"
#include "node/record/property.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_table.h"

#define TEXT(text) ((char *)(text))

static bool is_in_the_stream(const char *property)
{
	static const char *const names[] = {"encryption", "refreservation", "volblocksize"};

	for (size_t i = 0; i < COUNT(names); i++)
		if (strcmp(names[i], property) == 0)
			return true;
	return false;
}

static Property *property_new(struct arena *arena, const char *name, const char *value)
{
	Property *property = new_property(arena);

	property->name = TEXT(name);
	property->value = TEXT(value);
	return property;
}

/* Fill in the properties that are set on the dataset itself (source "local"). */
static void take_properties(struct arena *arena, const struct zfs_fields *row,
			    ReceiveHeader *header)
{
	struct error ignored;

	header->epoch = strtoll(zfs_fields_text(row, "zcsi:epoch"), NULL, 10);
	header->properties = arena_alloc(arena, ZFS_PROPERTIES_MAX * sizeof(*header->properties));
	for (size_t i = 1; i < row->n; i++) {
		const struct zfs_value *value = &row->values[i];
		if (strcmp(value->source, "local") != 0 || is_in_the_stream(value->property) ||
		    header->n_properties == ZFS_PROPERTIES_MAX)
			continue;
		Property *property = property_new(arena, value->property, value->text);
		if (property_check(property, &ignored) == 0)
			header->properties[header->n_properties++] = property;
	}
}

/*
 * Refuse a volume with the key of the parent. It would come back from another host with a key of
 * its own, which ZFS then confuses with the parent's: the dataset cannot be mounted any more.
 */
static int check_key(const char *parent, const char *root, struct error *err)
{
	size_t length = strlen(parent);

	if (strcmp(root, "-") == 0 || (!strncmp(root, parent, length) && root[length] == '/'))
		return 0;
	return fail(
		err, ERR_FAILED_PRECONDITION,
		"it has the encryption key of '%s', and only a volume with a key of its own, or "
		"with none, can have copies and backups",
		root);
}

static Dataset *describe(struct arena *arena, const struct dataset *volume)
{
	static const char from_snapshot[] = "snapshot:", from_volume[] = "volume:";
	Dataset *dataset = new_dataset(arena);

	dataset->id = volume->id;
	dataset->size = volume->size;
	dataset->parameters = volume->parameters;
	dataset->format = TEXT(volume->format->name);
	if (!strncmp(volume->source, from_snapshot, strlen(from_snapshot)))
		dataset->source_snapshot = volume->source + strlen(from_snapshot);
	else if (!strncmp(volume->source, from_volume, strlen(from_volume)))
		dataset->source_dataset = volume->source + strlen(from_volume);
	return dataset;
}

/* Returns the names of a list that are native, or of zcsi. */
static const char *without_foreign(struct arena *arena, const char *names)
{
	char *left = arena_alloc(arena, strlen(names) + 1), *end = left;

	for (size_t length; *names; names += length + (names[length] == ',')) {
		length = strcspn(names, ",");
		if (memchr(names, ':', length) && strncmp(names, "zcsi:", strlen("zcsi:")) != 0)
			continue;
		if (end > left)
			*end++ = ',';
		end = mempcpy(end, names, length);
	}
	return left;
}

static int read_row(struct arena *arena, const char *dataset, const char *names,
		    struct zfs_fields *ret, struct error *err)
{
	const char *all = arena_printf(arena, "encryptionroot%s%s", *names ? "," : "", names);

	return zfs_table_one(arena, dataset, all, ret, err);
}

/* A damaged property of another tool does not stop the copies: none of these is passed on then. */
int header_properties(struct arena *arena, const char *dataset, ReceiveHeader *to,
		      const char **ret_root, struct error *err)
{
	struct zfs_fields row;
	char *names;

	if (zfs_table_names(arena, NULL, dataset, &names, err) < 0)
		return -1;
	if (read_row(arena, dataset, names, &row, err) < 0) {
		const struct error cause = *err;
		if (!row.damaged ||
		    read_row(arena, dataset, without_foreign(arena, names), &row, err) < 0)
			return -1;
		log_warn("properties of other tools are not sent", log_str("dataset", dataset),
			 log_str("error", cause.text));
	}
	take_properties(arena, &row, to);
	*ret_root = zfs_fields_text(&row, "encryptionroot");
	if (!**ret_root)
		*ret_root = "-";
	return 0;
}

int header_make(struct arena *arena, const char *parent, const struct dataset *volume,
		ReceiveHeader **ret, const char **ret_flags, struct error *err)
{
	ReceiveHeader *header = new_receive_header(arena);
	const char *root;

	if (header_properties(arena, volume->name, header, &root, err) < 0 ||
	    check_key(parent, root, err) < 0)
		return -1;
	*ret_flags = send_flags_for(strcmp(root, "-") != 0);
	header->volume = describe(arena, volume);
	header->members = volume->members;
	header->push = volume->push;
	header->reserved = volume->reserved > 0;
	header->formatted = volume->formatted;
	*ret = header;
	return 0;
}

SnapshotRecord *header_record(struct arena *arena, const char *leaf, uint64_t guid,
			      const struct snapshot *known)
{
	SnapshotRecord *record = new_snapshot_record(arena);

	record->name = TEXT(leaf);
	record->guid = guid;
	if (!known || !*known->name)
		return record;
	const Property rows[] = {
		{.name = TEXT("zcsi:version"), .value = TEXT(DATASET_VERSION)},
		{.name = TEXT("zcsi:snapshot"), .value = escape_text(arena, known->name)},
		{.name = TEXT("zcsi:size"), .value = arena_printf(arena, "%" PRId64, known->size)},
		{.name = TEXT("zcsi:group"), .value = escape_text(arena, known->group)},
	};
	record->properties = arena_alloc(arena, COUNT(rows) * sizeof(*record->properties));
	for (size_t i = 0; i < COUNT(rows); i++)
		if (*rows[i].value)
			record->properties[record->n_properties++] =
				property_new(arena, rows[i].name, rows[i].value);
	return record;
}

void header_end(ReceiveHeader *header, const SnapshotRecord *record)
{
	header->snapshot = record->name;
	header->guid = record->guid;
	header->snapshot_properties = record->properties;
	header->n_snapshot_properties = record->n_properties;
}
