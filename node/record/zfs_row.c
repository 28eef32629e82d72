/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Collecting the lines of `zfs get` into rows.
 *
 * Invariant: a user property is stored only if its source is "local", because an inherited one
 * describes another dataset. The exception is zcsi:volume of a snapshot: it is inherited from the
 * snapshot's own dataset, and the source names that dataset.
 */
#include "node/record/zfs_row.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/*
 * The properties to read, and their members in struct zfs_row. FIELD: native ones; OPENZFS: those
 * that zfs-fuse lacks; USER: user properties of zcsi. zfs_rows.c needs a native one at the end.
 */
#define PROPERTIES(FIELD, OPENZFS, USER)                                                           \
	FIELD("guid", guid)                                                                        \
	FIELD("creation", creation)                                                                \
	FIELD("available", available)                                                              \
	FIELD("used", used)                                                                        \
	FIELD("refquota", refquota)                                                                \
	FIELD("volsize", volsize)                                                                  \
	FIELD("refreservation", refreservation)                                                    \
	FIELD("defer_destroy", defer_destroy)                                                      \
	OPENZFS("encryptionroot", encryption_root)                                                 \
	USER("zcsi:version", version)                                                              \
	USER("zcsi:volume", volume)                                                                \
	USER("zcsi:parameters", parameters)                                                        \
	USER("zcsi:published", published)                                                          \
	USER("zcsi:source", source)                                                                \
	USER("zcsi:root", root)                                                                    \
	USER("zcsi:deleted", deleted)                                                              \
	USER("zcsi:snapshot", snapshot)                                                            \
	USER("zcsi:size", size)                                                                    \
	USER("zcsi:group", group)                                                                  \
	USER("zcsi:format", format)                                                                \
	USER("zcsi:formatted", formatted)                                                          \
	USER("zcsi:members", members)                                                              \
	USER("zcsi:push", push)                                                                    \
	USER("zcsi:keep", keep)                                                                    \
	USER("zcsi:epoch", epoch)                                                                  \
	USER("zcsi:owner", owner)                                                                  \
	USER("zcsi:staged", staged)                                                                \
	FIELD("type", type)

#define LISTED(property, member) "," property
#define LEFT_OUT(property, member)
char *zfs_row_properties(struct arena *arena, const char *marker, bool openzfs)
{
	if (openzfs)
		return arena_printf(arena, "%s" PROPERTIES(LISTED, LISTED, LISTED), marker);
	return arena_printf(arena, "%s" PROPERTIES(LISTED, LEFT_OUT, LISTED), marker);
}

#define FIELD_ROW(property, member) {property, false, offsetof(struct zfs_row, member)},
#define USER_ROW(property, member)  {property, true, offsetof(struct zfs_row, member)},
static const struct {
	const char *property;
	bool local_only;
	size_t offset;
} rows[] = {PROPERTIES(FIELD_ROW, FIELD_ROW, USER_ROW)};

#define INHERITED "inherited from "

void zfs_row_set(struct zfs_row *row, const char *property, const char *value, const char *source)
{
	if (!strcmp(property, "zcsi:volume") && !strncmp(source, INHERITED, strlen(INHERITED))) {
		row->volume_inherited = value;
		row->inherited_from = source + strlen(INHERITED);
		return;
	}
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (strcmp(rows[i].property, property))
			continue;
		if (!rows[i].local_only || !strcmp(source, "local"))
			memcpy((char *)row + rows[i].offset, &value, sizeof(value));
		return;
	}
}

bool zfs_row_split(char *line, char **ret_property, char **ret_value, char **ret_source)
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

char *zfs_row_text(char *value)
{
	return strcmp(value, "-") == 0 ? value + 1 : value;
}

bool zfs_row_is_number(const char *text)
{
	return text && isdigit((unsigned char)*text);
}

int64_t zfs_row_number(const char *text)
{
	return text ? (int64_t)strtoull(text, NULL, 10) : 0;
}
