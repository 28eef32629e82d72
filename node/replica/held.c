/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Reading all copies with one `zfs list`. A snapshot inherits zcsi:volume from its copy, so the
 * lines of a copy are those with the same id.
 *
 * Invariant: a dataset counts only if it has the name of the copy of its volume.
 */
#include "node/replica/held.h"

#include <stdlib.h>
#include <string.h>

#include "common/volume/escape.h"
#include "node/replica/replica.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

#define OUTPUT_MAX ((size_t)256 << 20)

struct line {
	const char *id; /* escaped */
	const char *rest;
	size_t at; /* the line's number: zfs prints the newest snapshot of a copy first */
};

static int by_id(const void *a, const void *b)
{
	const struct line *one = a, *other = b;
	int order = strcmp(one->id, other->id);

	return order ? order : (one->at > other->at) - (one->at < other->at);
}

/* Returns the lines of datasets with an id, in order of that. */
static struct line *split(struct arena *arena, char *text, size_t *ret_n)
{
	size_t most = 1;
	char *state;

	for (const char *at = text; *at; at++)
		most += *at == '\n';
	struct line *lines = arena_alloc(arena, most * sizeof(*lines));
	*ret_n = 0;
	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		const char *id = strsep(&line, "\t");
		if (line && strcmp(id, "-") != 0)
			lines[*ret_n] = (struct line){id, line, *ret_n}, ++*ret_n;
	}
	qsort(lines, *ret_n, sizeof(*lines), by_id);
	return lines;
}

/* Returns the lines as one text. */
static char *join(struct arena *arena, const struct line *lines, size_t n)
{
	size_t size = 1;

	for (size_t i = 0; i < n; i++)
		size += strlen(lines[i].rest) + 1;
	char *text = arena_alloc(arena, size), *end = text;
	for (size_t i = 0; i < n; i++) {
		end = stpcpy(end, lines[i].rest);
		*end++ = '\n';
	}
	*end = '\0';
	return text;
}

static void add(struct arena *arena, const char *parent, const struct line *lines, size_t n,
		struct held_list *list)
{
	const char *id = unescape_text(arena, lines->id);
	CopyState *copy = replica_parse(arena, join(arena, lines, n), 1);

	if (id && copy && strcmp(copy->name, replica_name(arena, parent, id)) == 0)
		list->rows[list->n++] = (struct held){id, copy};
}

void held_parse(struct arena *arena, const char *parent, char *text, struct held_list *ret)
{
	size_t n, end;
	const struct line *lines = split(arena, text, &n);

	*ret = (struct held_list){.rows = arena_alloc(arena, (n + 1) * sizeof(*ret->rows))};
	for (size_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n && strcmp(lines[i].id, lines[end].id) == 0;)
			end++;
		add(arena, parent, lines + i, end - i, ret);
	}
}

bool held_possible(void)
{
	return !ssh_server() && zfs_is_the_kernels();
}

int held_read(struct arena *arena, const char *parent, bool snapshots, struct held_list *ret,
	      struct error *err)
{
	const char *folder = arena_printf(arena, "%s/" REPLICA_FOLDER, parent);
	const char *argv[] = {"zfs",
			      "list",
			      "-Hp",
			      "-d",
			      snapshots ? "2" : "1",
			      "-t",
			      snapshots ? "filesystem,volume,snapshot" : "filesystem,volume",
			      "-S",
			      "createtxg",
			      "-o",
			      arena_printf(arena, "zcsi:volume,%s", replica_columns),
			      folder,
			      NULL};
	const struct exec exec = {.argv = argv, .max_output = OUTPUT_MAX};
	auto_free char *out = NULL;

	*ret = (struct held_list){.n = 0};
	if (zfs_run_once(&exec, &out, err) < 0)
		return zfs_is_missing(parent, err);
	held_parse(arena, parent, arena_strdup(arena, out), ret);
	return 0;
}

const CopyState *held_find(const struct held_list *list, const char *id)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->rows[i].id, id) == 0)
			return list->rows[i].copy;
	return NULL;
}
