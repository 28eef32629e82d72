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
#include "node/zfs/zfs_run.h"

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
	const char *argv[] = {"zfs", "get", "-Hp", "-s", "local,received", "-o", "property,value",
			      "all", name,  NULL};
	auto_free char *out = NULL;
	char *state;

	if (zfs_run_once(&(struct exec){.argv = argv}, &out, err) < 0)
		return -1;
	char *lines = arena_strdup(arena, out);
	for (char *line = strtok_r(lines, "\n", &state); line;
	     line = strtok_r(NULL, "\n", &state)) {
		const char *property = strsep(&line, "\t");
		if (line && !is_left_out(property) && (!besides || strcmp(property, besides) != 0))
			zfs_property(ret, property, line);
	}
	return 0;
}
