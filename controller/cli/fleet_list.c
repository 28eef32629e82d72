/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Lists of all agents, page by page. All agents that have more are asked at once for their next
 * page.
 *
 * Invariant: an agent that fails has an error in its member, and its entries are incomplete.
 */
#include "controller/cli/fleet_list.h"

#include <stdlib.h>
#include <string.h>

const struct member *fleet_node(const struct member *members, size_t n_members, const char *node)
{
	for (size_t i = 0; i < n_members; i++)
		if (members[i].host && strcmp(members[i].node, node) == 0)
			return &members[i];
	return NULL;
}

bool fleet_has(const struct member *members, size_t n_members, const KnownHost *host)
{
	for (size_t i = 0; i < n_members; i++) {
		const GetHostResponse *member = members[i].host;
		if (!member)
			continue;
		/* The pool of a host may have been imported on a node with another id. */
		if (strcmp(member->node_id, host->node_id) == 0 ||
		    (host->pool_guid && member->pool_guid == host->pool_guid &&
		     strcmp(member->dataset, host->dataset) == 0))
			return true;
	}
	return false;
}

/* The state of one agent's list while it is read. */
struct reading {
	struct client_call *call;
	const char *after;
	bool more;
};

struct gathered {
	struct owned *list;
	size_t n, room;
};

static void gather(struct gathered *all, struct arena *arena, const struct owned *entry)
{
	if (all->n == all->room) {
		struct owned *old = all->list;
		all->room = all->room * 2 + 64;
		all->list = arena_alloc(arena, all->room * sizeof(*all->list));
		if (all->n)
			memcpy(all->list, old, all->n * sizeof(*old));
	}
	all->list[all->n++] = *entry;
}

static void take_page(struct gathered *all, struct arena *arena, struct reading *reading,
		      struct member *member, const struct fleet_list *list)
{
	void *response = NULL;
	size_t n;

	reading->more = false;
	if (client_finish(reading->call, &response, &member->error) < 0)
		return;
	void *const *entries = list->entries(response, &n, &reading->more);
	for (size_t i = 0; i < n; i++) {
		reading->after = list->id(entries[i]);
		gather(all, arena, &(struct owned){member, entries[i], reading->after});
	}
	/* An agent that promises more and sends nothing would be asked for ever. */
	reading->more &= n > 0;
}

static int by_id_and_node(const void *left, const void *right)
{
	const struct owned *one = left, *other = right;
	int order = strcmp(one->id, other->id);

	return order ? order : strcmp(one->owner->node, other->owner->node);
}

struct owned *fleet_entries(struct fleet *fleet, struct arena *arena, struct member *members,
			    size_t n_members, const struct fleet_list *list, const void *arg,
			    size_t *ret_n)
{
	struct reading *readings = arena_alloc(arena, n_members * sizeof(*readings));
	struct gathered all = {0};
	size_t left = 0;

	for (size_t i = 0; i < n_members; i++) {
		const GetHostResponse *host = members[i].host;
		readings[i] = (struct reading){.after = "", .more = host && *host->dataset};
		left += readings[i].more;
	}
	while (left > 0) {
		for (size_t i = 0; i < n_members; i++)
			if (readings[i].more)
				readings[i].call =
					fleet_begin(fleet, arena, i, list->method,
						    list->ask(arena, readings[i].after, arg));
		left = 0;
		for (size_t i = 0; i < n_members; i++) {
			if (readings[i].more)
				take_page(&all, arena, &readings[i], &members[i], list);
			left += readings[i].more;
		}
	}
	if (all.n)
		qsort(all.list, all.n, sizeof(*all.list), by_id_and_node);
	*ret_n = all.n;
	return all.list;
}
