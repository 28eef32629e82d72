/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Reading the properties that are set on a dataset.
 *
 * Invariant: properties that record an unfinished change of the dataset are left out.
 */
#include "node/change/properties.h"

#include <string.h>

#include "node/change/detach_end.h"
#include "node/change/swap.h"
#include "node/zfs/zfs_table.h"

static bool is_left_out(const char *property)
{
	static const char *const names[] = {
		"volblocksize", "encryption",      "keyformat",     "keylocation",
		"pbkdf2iters",  "casesensitivity", "normalization", "utf8only",
		"zcsi:deleted", "zcsi:staged",     SWAP_PROPERTY,   DETACH_PROPERTY,
	};

	for (size_t i = 0; i < COUNT(names); i++)
		if (strcmp(property, names[i]) == 0)
			return true;
	return false;
}

int properties_read(struct arena *arena, const char *name, const char *besides,
		    struct zfs_properties *ret, struct error *err)
{
	struct zfs_fields row;
	char *properties;

	if (zfs_table_names(arena, NULL, name, &properties, err) < 0 ||
	    zfs_table_one(arena, name, properties, &row, err) < 0)
		return -1;
	for (size_t i = 1; i < row.n; i++) {
		const struct zfs_value *value = &row.values[i];
		bool is_set = strcmp(value->source, "local") == 0 ||
			      strcmp(value->source, "received") == 0;
		if (is_set && !is_left_out(value->property) &&
		    (!besides || strcmp(value->property, besides) != 0))
			zfs_property(ret, value->property, value->text);
	}
	return 0;
}
