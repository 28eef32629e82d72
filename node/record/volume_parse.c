/* SPDX-License-Identifier: MPL-2.0 */
/*
 * From an entry to a volume or a snapshot.
 *
 * Invariant: what comes out of here is ours. The id must lead back to the name, so a dataset that
 * was renamed by hand is nobody's volume.
 */
#include "node/record/volume_parse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/volume/escape.h"

static uint64_t guid_of(const struct entry *entry)
{
	return entry->guid ? strtoull(entry->guid, NULL, 10) : 0;
}

/* "-" is how nothing is written: zfs-fuse takes no empty value. */
static char *text_of(const char *value)
{
	return (char *)(value && strcmp(value, "-") ? value : "");
}

static char *unescaped(struct arena *arena, const char *escaped)
{
	char *text = escaped ? unescape_text(arena, escaped) : NULL;

	return text ? text : arena_strdup(arena, "");
}

/* A key below the parent is a volume's: its own, or that of what it was cloned from. */
static bool has_key(const char *parent, const struct entry *entry)
{
	const char *root = entry->encryption_root ? entry->encryption_root : "";
	size_t length = strlen(parent);

	return !strncmp(root, parent, length) && root[length] == '/';
}

static bool is_version(const struct entry *entry)
{
	return entry->version && !strcmp(entry->version, DATASET_VERSION);
}

/* The guid at the end says that it was thrown away, and not just put there. */
static bool is_trash_name(struct arena *arena, const char *parent, const char *name, uint64_t guid)
{
	const char *tail = arena_printf(arena, "-%" PRIu64, guid);
	size_t length = strlen(name), after = strlen(tail);

	return dataset_is_trash(parent, name) && length > after &&
	       !strcmp(name + length - after, tail);
}

/* NULL: no volume of ours. */
static const struct format *format_of(const struct entry *entry)
{
	const struct format *format = NULL;

	if (!entry->type)
		return NULL;
	if (!strcmp(entry->type, "filesystem"))
		return format_find(FORMAT_ZFS);
	if (!strcmp(entry->type, "volume") && entry->format)
		format = format_find(entry->format);
	return format && format->zvol ? format : NULL;
}

struct dataset *recognise_dataset(struct arena *arena, const char *parent,
				  const struct entry *entry, bool *ret_trashed)
{
	const struct format *format = format_of(entry);

	if (!format || !is_version(entry))
		return NULL;
	char *id = unescaped(arena, entry->volume);
	*ret_trashed = is_trash_name(arena, parent, entry->name, guid_of(entry));
	if (!*id || (!*ret_trashed && strcmp(dataset_name(arena, parent, id), entry->name)))
		return NULL;

	struct dataset *dataset = arena_alloc(arena, sizeof(*dataset));
	*dataset = (struct dataset){
		.id = id,
		.name = (char *)entry->name,
		.parameters = unescaped(arena, entry->parameters),
		.published = text_of(entry->published),
		.source = unescaped(arena, entry->source),
		.root = text_of(entry->root),
		.origin = text_of(entry->origin),
		.format = format,
		.formatted = *text_of(entry->formatted),
		.guid = guid_of(entry),
		.size = entry_number(format->zvol ? entry->volsize : entry->refquota),
		.reserved = entry_number(entry->refreservation),
		.used = entry_number(entry->used),
		.available = entry_number(entry->available),
		.creation = entry_number(entry->creation),
		.deleted = entry_number(entry->deleted),
		.has_key = has_key(parent, entry),
	};
	return dataset;
}

/* The name and the group that CSI gave it; both stay empty when another tool made it. */
static void name_snapshot(struct arena *arena, const struct entry *entry, const char *leaf,
			  struct snapshot *snapshot)
{
	char *name = unescaped(arena, entry->snapshot), *group = unescaped(arena, entry->group);

	if (!is_version(entry) || !*name)
		return;
	if (*group ? !snapshot_leaf_is_group(arena, leaf, group)
		   : !snapshot_leaf_is(arena, leaf, name))
		return;
	snapshot->name = name;
	snapshot->group = group;
	if (entry->size)
		snapshot->size = entry_number(entry->size);
}

/* zfs-fuse cuts the source's column: of a longer dataset's name it tells the first bytes only. */
#define SOURCE_NAME_MAX 112

static bool is_inherited_from(const struct entry *entry, const char *owner)
{
	const char *told = entry->inherited_from;

	return told && (!strcmp(told, owner) || (strlen(told) == SOURCE_NAME_MAX &&
						 !strncmp(told, owner, SOURCE_NAME_MAX)));
}

struct snapshot *recognise_snapshot(struct arena *arena, const char *parent,
				    const struct entry *entry, const char *at)
{
	const char *owner = arena_printf(arena, "%.*s", (int)(at - entry->name), entry->name);

	if (!is_inherited_from(entry, owner))
		return NULL;
	char *id = unescaped(arena, entry->volume_inherited);
	if (!*id || (!dataset_is_trash(parent, owner) &&
		     strcmp(dataset_name(arena, parent, id), owner) != 0))
		return NULL;

	struct snapshot *snapshot = arena_alloc(arena, sizeof(*snapshot));
	*snapshot = (struct snapshot){
		.id = snapshot_id(arena, id, at + 1),
		.name = arena_strdup(arena, ""),
		.group = arena_strdup(arena, ""),
		.dataset_id = id,
		.zfs_name = (char *)entry->name,
		.guid = guid_of(entry),
		.creation = entry_number(entry->creation),
		.has_key = has_key(parent, entry),
		.size = entry_number(entry->volsize),
	};
	name_snapshot(arena, entry, at + 1, snapshot);
	return snapshot;
}
