/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The list of hosts.
 *
 * Invariant: a node has at most one row, the one with the highest stamp of all that were set or
 * merged. A new host takes the place of a forgotten host in a full list, or else is not added.
 */
#include "common/volume/host_list.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/hash.h"
#include "common/mem.h"

void host_list_fini(struct host_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->rows[i].node_id);
		free(list->rows[i].endpoint);
		free(list->rows[i].dataset);
	}
	free(list->rows);
	*list = (struct host_list){0};
}

/* Returns the index of the first row whose node id is not lower. */
static size_t place_of(const struct host_list *list, const char *node_id)
{
	size_t low = 0, high = list->n;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (strcmp(list->rows[middle].node_id, node_id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct host_row *find(const struct host_list *list, const char *node_id)
{
	size_t at = place_of(list, node_id);

	return at < list->n && !strcmp(list->rows[at].node_id, node_id) ? &list->rows[at] : NULL;
}

const struct host_row *host_list_find(const struct host_list *list, const char *node_id)
{
	return find(list, node_id);
}

/* Returns what a row adds to the digest, in any order of the rows. */
static uint64_t digest_of(const struct host_row *row)
{
	uint64_t hash = hash_text(HASH_START, row->node_id);

	for (unsigned shift = 0; shift < 64; shift += 8)
		hash = hash_byte(hash, (unsigned char)(row->stamp >> shift));
	return hash;
}

static void remove_at(struct host_list *list, size_t at)
{
	struct host_row *row = &list->rows[at];

	list->digest -= digest_of(row);
	free(row->node_id);
	free(row->endpoint);
	free(row->dataset);
	memmove(row, row + 1, (--list->n - at) * sizeof(*row));
}

/* Make room for a host, by removing a forgotten one if the list is full. False if there is none. */
static bool make_room(struct host_list *list)
{
	if (list->n < HOST_LIST_MAX)
		return true;
	for (size_t i = 0; i < list->n; i++) {
		if (!list->rows[i].forgotten)
			continue;
		remove_at(list, i);
		return true;
	}
	return false;
}

/* Add a copy of the row, which replaces the row of the same node if there is one. */
static void put(struct host_list *list, const struct host_row *row)
{
	struct host_row copy = *row;

	copy.node_id = mem_strdup(row->node_id);
	copy.endpoint = mem_strdup(row->endpoint);
	copy.dataset = mem_strdup(row->dataset);
	copy.order = ++list->order;
	size_t at = place_of(list, copy.node_id);
	if (find(list, copy.node_id))
		remove_at(list, at);
	list->rows = mem_resize(list->rows, (list->n + 1) * sizeof(*list->rows));
	memmove(list->rows + at + 1, list->rows + at, (list->n++ - at) * sizeof(copy));
	list->rows[at] = copy;
	list->digest += digest_of(&copy);
}

void host_list_set(struct host_list *list, const struct host_row *row)
{
	const struct host_row *old = find(list, row->node_id);
	uint64_t now = (uint64_t)wall_us(), after = old ? old->stamp + 1 : 0;
	struct host_row changed = *row;

	changed.stamp = now > after ? now : after;
	if (old || make_room(list))
		put(list, &changed);
}

static bool is_text(const char *text)
{
	return strlen(text) <= HOST_TEXT_MAX;
}

void host_list_merge(struct host_list *list, const struct host_row *row)
{
	const struct host_row *old = find(list, row->node_id);

	if (!*row->node_id || !is_text(row->node_id) || !is_text(row->endpoint) ||
	    !is_text(row->dataset))
		return;
	if (old ? old->stamp < row->stamp : make_room(list))
		put(list, row);
}
