/* SPDX-License-Identifier: MPL-2.0 */
/*
 * How much copies lack, from the properties written#BOOKMARK (zfsprops(7)), which one `zfs get`
 * reads of all volumes; and when it is to be read.
 *
 * Invariant: only a number that ZFS has printed for a copy's bookmark counts, zero too. Where there
 * is no such bookmark, ZFS prints a dash.
 */
#include "node/copy/written.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/volume/escape.h"
#include "node/copy/history.h"
#include "node/zfs/zfs_run.h"

#define PREFIX  "written#"
#define LOOK_MS 10000 /* at least between two reads, if the second is only for `unsent` */

static int by_bookmark(const void *a, const void *b)
{
	const struct written_row *one = a, *other = b;

	return strcmp(one->bookmark, other->bookmark);
}

/* Returns the value as a number; -1 if it is none. */
static int64_t number(const char *value)
{
	char *end;
	int64_t bytes = strtoll(value, &end, 10);

	return *value >= '0' && *value <= '9' && !*end ? bytes : -1;
}

void written_parse(struct arena *arena, char *text, struct written *ret)
{
	size_t lines = 0;
	char *state;

	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	ret->rows = arena_alloc(arena, (lines + 1) * sizeof(*ret->rows));
	ret->n = 0;
	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		const char *name = strsep(&line, "\t"), *property = strsep(&line, "\t");
		if (!property || !line || strncmp(property, PREFIX, strlen(PREFIX)) != 0 ||
		    number(line) < 0)
			continue;
		ret->rows[ret->n++] = (struct written_row){arena_printf(arena, "%s#%s", name,
									property + strlen(PREFIX)),
							   number(line)};
	}
	qsort(ret->rows, ret->n, sizeof(*ret->rows), by_bookmark);
}

int written_read(struct arena *arena, const char *parent, const char *const *nodes,
		 struct written *ret, struct error *err)
{
	char *properties = arena_strdup(arena, "");
	auto_free char *out = NULL;

	*ret = (struct written){.at = now_us(), .time = wall_us()};
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
	written_parse(arena, arena_strdup(arena, out), ret);
	return 0;
}

int64_t written_bytes(const struct written *written, const char *dataset, const char *node)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const struct written_row key = {history_bookmark(&arena, dataset, node), 0};
	const struct written_row *row =
		written->n ? bsearch(&key, written->rows, written->n, sizeof(key), by_bookmark)
			   : NULL;

	return row ? row->bytes : -1;
}

/* Returns true if the order has nothing to send unless the volume was written to. */
static bool may_be_idle(const struct order *order)
{
	return !order->running && !order->deleted && !order->owed && !order->paused &&
	       !order->wanted && !order->gone && !order->extra && !order->lacks && order->synced &&
	       !order->failed && order->pushed == order->mark;
}

static bool is_listed(const char *const *nodes, size_t n, const char *node)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(nodes[i], node) == 0)
			return true;
	return false;
}

/* Returns true if ZFS may report how much the copy lacks: the copy and its volume exist. */
static bool is_measurable(const struct order *order)
{
	return order->synced && !order->deleted && !order->owed && !order->gone;
}

/*
 * A copy that gets nothing, since its pushes fail or are paused, is measured every order->every
 * seconds, and one that has just got data after LOOK_MS. One `zfs get` measures all copies, so for
 * these it runs once in ten seconds at most, however many volumes there are.
 */
int64_t written_look_at(const struct order_list *orders)
{
	int64_t first = NO_DEADLINE;

	for (size_t i = 0; i < orders->n; i++) {
		const struct order *row = orders->rows[i];
		int64_t at = row->measured ? row->measured + row->every * 1000
					   : orders->looked + LOOK_MS;
		if (is_measurable(row) && at < first)
			first = at;
	}
	return first;
}

const char *const *written_nodes(const struct order_list *orders, struct arena *arena)
{
	const char **nodes = arena_alloc(arena, (orders->n + 1) * sizeof(*nodes));
	bool any = written_look_at(orders) <= now_ms();
	size_t n = 0;

	for (size_t i = 0; i < orders->n; i++) {
		const struct order *row = orders->rows[i];
		if (!is_measurable(row))
			continue;
		any |= may_be_idle(row) && row->due <= now_ms();
		if (!is_listed(nodes, n, row->to))
			nodes[n++] = arena_strdup(arena, row->to);
	}
	nodes[any ? n : 0] = NULL;
	return nodes;
}

/* Postpone orders that are not due yet too, because one `zfs get` has read all volumes. */
void written_store(struct order_list *orders, const struct written *written)
{
	orders->looked = now_ms();
	for (size_t i = 0; i < orders->n; i++) {
		struct order *row = orders->rows[i];
		const struct synced same = {.time = written->time, .mark = row->mark};
		if (!is_measurable(row))
			continue;
		int64_t bytes = written_bytes(written, row->volume->name, row->to);
		/* Drop the number if the copy got a newer snapshot after `zfs get` began. */
		if (row->arrived < written->at) {
			row->unsent = bytes;
			row->measured = orders->looked;
		}
		if (may_be_idle(row) && bytes == 0)
			order_done(row, &same, orders->looked + row->every * 1000);
		else if (may_be_idle(row) && row->due <= orders->looked)
			row->lacks = true;
	}
}
