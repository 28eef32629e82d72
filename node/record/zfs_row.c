/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The lines of `zfs get`, put together to entries.
 *
 * Invariant: of our own properties only those count whose source is local, because an inherited one
 * says nothing about this dataset. The one exception tells whose a snapshot is: it inherits
 * zcsi:volume from its own dataset, and zfs names that.
 */
#include "node/record/zfs_row.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

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
const char *zfs_row_properties(bool openzfs)
{
	return openzfs ? "referenced" PROPERTIES(LISTED, LISTED, LISTED)
		       : "referenced" PROPERTIES(LISTED, LEFT_OUT, LISTED);
}

#define FIELD_ROW(property, member) {property, false, offsetof(struct zfs_row, member)},
#define OURS_ROW(property, member)  {property, true, offsetof(struct zfs_row, member)},
static const struct {
	const char *property;
	bool local_only;
	size_t offset;
} rows[] = {PROPERTIES(FIELD_ROW, FIELD_ROW, OURS_ROW)};

#define INHERITED "inherited from "

void zfs_row_take(struct zfs_row *row, const char *property, const char *value, const char *source)
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

bool zfs_row_cut(char *line, char **ret_property, char **ret_value, char **ret_source)
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

int64_t zfs_row_number(const char *text)
{
	return text ? (int64_t)strtoull(text, NULL, 10) : 0;
}
