/* SPDX-License-Identifier: MPL-2.0 */
/*
 * From the lines of `zfs get` to volumes and snapshots.
 *
 * Invariant: what comes out of here is ours. Only properties whose source is local count, because
 * an inherited one says nothing about this dataset; and the id must lead back to the name, so a
 * dataset that was renamed by hand is nobody's volume. The one exception tells whose a snapshot
 * is: it inherits zcsi:volume from its own dataset, and zfs names that.
 */
#include "node/reading.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/escape.h"

/* A dataset or snapshot as it is being read, line by line. */
struct entry {
	const char *name, *type, *guid, *creation, *available, *used;
	const char *refquota, *volsize, *refreservation, *origin, *deferred, *encryption_root;
	const char *version, *volume, *parameters, *published, *source, *root, *deleted;
	const char *snapshot, *size, *group, *format, *formatted;
	const char *volume_inherited, *inherited_from;
};

/*
 * FIELD(property, member); zfs-fuse has no OPENZFS; OURS are user properties, of which only local
 * ones count.
 */
#define PROPERTIES(FIELD, OPENZFS, OURS)                                                           \
	FIELD("type", type)                                                                        \
	FIELD("guid", guid)                                                                        \
	FIELD("creation", creation)                                                                \
	FIELD("available", available)                                                              \
	FIELD("used", used)                                                                        \
	FIELD("refquota", refquota)                                                                \
	FIELD("volsize", volsize)                                                                  \
	FIELD("refreservation", refreservation)                                                    \
	FIELD("origin", origin)                                                                    \
	FIELD("defer_destroy", deferred)                                                           \
	OPENZFS("encryptionroot", encryption_root)                                                 \
	OURS("zcsi:version", version)                                                              \
	OURS("zcsi:volume", volume)                                                                \
	OURS("zcsi:parameters", parameters)                                                        \
	OURS("zcsi:published", published)                                                          \
	OURS("zcsi:source", source)                                                                \
	OURS("zcsi:root", root)                                                                    \
	OURS("zcsi:deleted", deleted)                                                              \
	OURS("zcsi:snapshot", snapshot)                                                            \
	OURS("zcsi:size", size)                                                                    \
	OURS("zcsi:group", group)                                                                  \
	OURS("zcsi:format", format)                                                                \
	OURS("zcsi:formatted", formatted)

#define LISTED(property, member) "," property
/* The list opens with a name that needs no row: every dataset has it, nobody reads it. */
#define LEFT_OUT(property, member)
const char *reading_properties(bool openzfs)
{
	return openzfs ? "referenced" PROPERTIES(LISTED, LISTED, LISTED)
		       : "referenced" PROPERTIES(LISTED, LEFT_OUT, LISTED);
}

#define FIELD_ROW(property, member) {property, false, offsetof(struct entry, member)},
#define OURS_ROW(property, member)  {property, true, offsetof(struct entry, member)},
static const struct {
	const char *property;
	bool local_only;
	size_t offset;
} rows[] = {PROPERTIES(FIELD_ROW, FIELD_ROW, OURS_ROW)};

#define INHERITED "inherited from "

static void take(struct entry *entry, const char *property, const char *value, const char *source)
{
	if (!strcmp(property, "zcsi:volume") && !strncmp(source, INHERITED, strlen(INHERITED))) {
		entry->volume_inherited = value;
		entry->inherited_from = source + strlen(INHERITED);
		return;
	}
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (strcmp(rows[i].property, property))
			continue;
		if (!rows[i].local_only || !strcmp(source, "local"))
			memcpy((char *)entry + rows[i].offset, &value, sizeof(value));
		return;
	}
}

/* Cut "name\tproperty\tvalue\tsource" in place; a value may hold tabs, the others do not. */
static bool cut_line(char *line, char **ret_property, char **ret_value, char **ret_source)
{
	char *property = strchr(line, '\t');
	char *value = property ? strchr(property + 1, '\t') : NULL;
	char *source = value ? strrchr(value + 1, '\t') : NULL;

	if (!source)
		return false;
	*property = *value = *source = '\0';
	*ret_property = property + 1;
	*ret_value = value + 1;
	*ret_source = source + 1;
	return true;
}

/* "-" and "none" are no numbers, and 0. */
static int64_t number(const char *text)
{
	return text ? (int64_t)strtoull(text, NULL, 10) : 0;
}

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

static struct dataset *recognise_dataset(struct arena *arena, const char *parent,
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
		.size = number(format->zvol ? entry->volsize : entry->refquota),
		.reserved = number(entry->refreservation),
		.used = number(entry->used),
		.available = number(entry->available),
		.creation = number(entry->creation),
		.deleted = number(entry->deleted),
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
		snapshot->size = number(entry->size);
}

/* zfs-fuse cuts the source's column: of a longer dataset's name it tells the first bytes only. */
#define SOURCE_NAME_MAX 112

static bool is_inherited_from(const struct entry *entry, const char *owner)
{
	const char *told = entry->inherited_from;

	return told && (!strcmp(told, owner) || (strlen(told) == SOURCE_NAME_MAX &&
						 !strncmp(told, owner, SOURCE_NAME_MAX)));
}

static struct snapshot *recognise_snapshot(struct arena *arena, const char *parent,
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
		.creation = number(entry->creation),
		.has_key = has_key(parent, entry),
		.size = number(entry->volsize),
	};
	name_snapshot(arena, entry, at + 1, snapshot);
	return snapshot;
}

/* All snapshots of a dataset come right after it. */
static void count_snapshot(struct reading *reading, const char *name, const char *at)
{
	struct dataset **lists[] = {reading->datasets, reading->trashed};
	const size_t counts[] = {reading->n_datasets, reading->n_trashed};
	size_t length = (size_t)(at - name);

	for (size_t i = 0; i < COUNT(lists); i++) {
		struct dataset *last = counts[i] ? lists[i][counts[i] - 1] : NULL;
		if (last && strlen(last->name) == length && !strncmp(last->name, name, length))
			last->snapshots++;
	}
}

static void finish_snapshot(struct arena *arena, const char *parent, const struct entry *entry,
			    const char *at, struct reading *reading)
{
	bool deferred = entry->deferred && !strcmp(entry->deferred, "on");
	struct snapshot *snapshot = recognise_snapshot(arena, parent, entry, at);

	count_snapshot(reading, entry->name, at);
	if (snapshot && !deferred && !snapshot_leaf_is_hidden(at + 1)) {
		reading->snapshots[reading->n_snapshots++] = snapshot;
		return;
	}
	reading->others[reading->n_others++] = (char *)entry->name;
	if (snapshot && !deferred && snapshot_leaf_is_clone(at + 1))
		reading->origins[reading->n_origins++] = (char *)entry->name;
}

static void finish(struct arena *arena, const char *parent, const struct entry *entry,
		   struct reading *reading)
{
	const char *at = entry->name ? strchr(entry->name, '@') : NULL;
	bool trashed = false;

	if (!entry->name)
		return;
	if (at)
		return finish_snapshot(arena, parent, entry, at, reading);
	if (!strcmp(entry->name, parent)) {
		reading->parent = true;
		reading->available = number(entry->available);
	}
	struct dataset *dataset = recognise_dataset(arena, parent, entry, &trashed);
	if (!dataset)
		reading->others[reading->n_others++] = (char *)entry->name;
	else if (trashed)
		reading->trashed[reading->n_trashed++] = dataset;
	else
		reading->datasets[reading->n_datasets++] = dataset;
}

/* How often the name changes from one line to the next. */
static size_t count_entries(const char *text)
{
	const char *name = NULL;
	size_t n = 1, length = 0;

	for (const char *line = text; *line;) {
		if (!name || strncmp(line, name, length + 1)) {
			name = line;
			length = strcspn(line, "\t\n");
			n++;
		}
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return n;
}

void reading_parse(struct arena *arena, const char *parent, char *text, struct reading *ret)
{
	size_t most = count_entries(text);
	struct entry entry = {0};
	char *state, *property, *value, *source;

	*ret = (struct reading){0};
	ret->datasets = arena_alloc(arena, most * sizeof(*ret->datasets));
	ret->trashed = arena_alloc(arena, most * sizeof(*ret->trashed));
	ret->snapshots = arena_alloc(arena, most * sizeof(*ret->snapshots));
	ret->origins = arena_alloc(arena, most * sizeof(*ret->origins));
	ret->others = arena_alloc(arena, most * sizeof(*ret->others));
	/* All lines of one dataset come together. */
	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		if (!cut_line(line, &property, &value, &source))
			continue;
		if (!entry.name || strcmp(entry.name, line)) {
			finish(arena, parent, &entry, ret);
			entry = (struct entry){.name = line};
		}
		take(&entry, property, value, source);
	}
	finish(arena, parent, &entry, ret);
}
