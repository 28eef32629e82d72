/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Reading the properties written#BOOKMARK (zfsprops(7)), by one `zfs get` for all volumes.
 *
 * Invariant: a copy is idle only if ZFS has printed a zero for its bookmark. Where there is no such
 * bookmark, ZFS prints a dash.
 */
#include "node/copy/written.h"

#include <stdlib.h>
#include <string.h>

#include "common/volume/escape.h"
#include "node/copy/history.h"
#include "node/zfs/zfs_run.h"

#define PREFIX "written#"

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void parse(struct arena *arena, char *text, struct written *ret)
{
	size_t lines = 0;
	char *state;

	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	char **idle = arena_alloc(arena, (lines + 1) * sizeof(*idle));
	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		const char *name = strsep(&line, "\t"), *property = strsep(&line, "\t");
		if (property && line && !strncmp(property, PREFIX, strlen(PREFIX)) &&
		    strcmp(line, "0") == 0)
			idle[ret->n++] =
				arena_printf(arena, "%s#%s", name, property + strlen(PREFIX));
	}
	qsort(idle, ret->n, sizeof(*idle), by_text);
	ret->idle = idle;
}

int written_read(struct arena *arena, const char *parent, const char *const *nodes,
		 struct written *ret, struct error *err)
{
	char *properties = arena_strdup(arena, "");
	auto_free char *out = NULL;

	*ret = (struct written){.n = 0};
	for (size_t i = 0; nodes[i]; i++)
		properties = arena_printf(arena, "%s%s" PREFIX HISTORY_OWN "%s", properties,
					  i ? "," : "", escape_text(arena, nodes[i]));
	const char *argv[] = {"zfs",
			      "get",
			      "-Hp",
			      "-d",
			      "1",
			      "-t",
			      "filesystem,volume",
			      "-o",
			      "name,property,value",
			      properties,
			      parent,
			      NULL};
	if (zfs_run_once(&(struct exec){.argv = argv, .max_output = ZFS_LIST_OUTPUT_MAX}, &out,
			 err) < 0)
		return -1;
	parse(arena, arena_strdup(arena, out), ret);
	return 0;
}

bool written_nothing(const struct written *written, const char *dataset, const char *node)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const char *key = history_bookmark(&arena, dataset, node);

	return bsearch(&key, written->idle, written->n, sizeof(*written->idle), by_text);
}
