/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Reading the marks of unfinished changes.
 *
 * Invariant: a dataset without a local id is no volume, so its mark does not count.
 */
#include "node/change/marks.h"

#include <string.h>

#include "common/volume/escape.h"
#include "node/zfs/zfs_run.h"

/*
 * Call fn for each mark. A line has a name, a property and its value, and that of zcsi:volume comes
 * before that of the mark.
 */
static int call_all(struct arena *arena, char *lines, marks_fn *fn, void *arg, struct error *err)
{
	const char *known = "";
	struct mark mark = {0};
	char *state;

	for (char *line = strtok_r(lines, "\n", &state); line;
	     line = strtok_r(NULL, "\n", &state)) {
		const char *name = strsep(&line, "\t"), *property = strsep(&line, "\t");
		if (!property || !line)
			continue;
		if (strcmp(property, "zcsi:volume") == 0) {
			known = name;
			mark.id = unescape_text(arena, line);
			continue;
		}
		if (!mark.id || strcmp(known, name) != 0)
			continue;
		mark.dataset = name;
		mark.value = line;
		if (fn(arg, &mark, err) < 0)
			return -1;
	}
	return 0;
}

int marks_each(struct arena *arena, const char *parent, const char *property, marks_fn *fn,
	       void *arg, struct error *err)
{
	const char *both = arena_printf(arena, "zcsi:volume,%s", property);
	const char *argv[] = {"zfs",
			      "get",
			      "-Hp",
			      "-s",
			      "local",
			      "-d",
			      "2",
			      "-t",
			      "filesystem,volume",
			      "-o",
			      "name,property,value",
			      both,
			      parent,
			      NULL};
	const struct exec exec = {.argv = argv, .max_output = ZFS_LIST_OUTPUT_MAX};
	auto_free char *out = NULL;

	if (zfs_run_once(&exec, &out, err) < 0)
		return -1;
	return call_all(arena, arena_strdup(arena, out), fn, arg, err);
}
