/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Hosts whose agent left the list.
 *
 * Invariant: a node has at most one record.
 */
#include "controller/absent.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"

static void absent_free(struct absent *absent)
{
	names_fini(&absent->names);
	free(absent->node_id);
	free(absent->endpoint);
	free(absent->dataset);
	free(absent);
}

/* Remove and free the record at *at. */
static void remove_at(struct absent **at)
{
	struct absent *absent = *at;

	*at = absent->next;
	absent_free(absent);
}

static struct absent **find(struct absent **list, const char *node_id)
{
	while (*list && strcmp((*list)->node_id, node_id) != 0)
		list = &(*list)->next;
	return list;
}

void absent_add(struct absent **list, struct absent *host)
{
	struct absent **old = find(list, host->node_id);

	if (*old)
		remove_at(old);
	struct absent *absent = mem_alloc(sizeof(*absent));
	*absent = (struct absent){.next = *list,
				  .node_id = mem_strdup(host->node_id),
				  .endpoint = mem_strdup(host->endpoint),
				  .dataset = mem_strdup(host->dataset),
				  .pool_guid = host->pool_guid,
				  .since = host->since,
				  .names = host->names};
	*list = absent;
}

struct absent *absent_node(struct absent *list, const char *node_id)
{
	return *find(&list, node_id);
}

bool absent_is_unknown(const struct absent *absent)
{
	return !absent->names.version && *absent->dataset;
}

const struct absent *absent_with(const struct absent *list, uint64_t hash)
{
	while (list && !absent_is_unknown(list) && !names_may_have(&list->names, hash))
		list = list->next;
	return list;
}

static bool is_same(const struct absent *absent, const char *node_id, const char *dataset,
		    uint64_t pool_guid)
{
	return !strcmp(absent->node_id, node_id) ||
	       (pool_guid && absent->pool_guid == pool_guid && !strcmp(absent->dataset, dataset));
}

bool absent_return(struct absent **list, const char *node_id, const char *dataset,
		   uint64_t pool_guid, struct names *names)
{
	while (*list && !is_same(*list, node_id, dataset, pool_guid))
		list = &(*list)->next;
	if (!*list)
		return false;
	names_fini(names);
	*names = (*list)->names;
	/* No agent reports the version 1, so the roll call reads the names again. */
	names->version = names->version ? 1 : 0;
	(*list)->names = (struct names){0};
	remove_at(list);
	return true;
}

void absent_forget(struct absent **list, const char *node_id)
{
	list = find(list, node_id);
	if (!*list)
		return;
	log_warn("host is forgotten, and its names are free", log_str("node", node_id),
		 log_str("agent", (*list)->endpoint));
	remove_at(list);
}

void absent_fini(struct absent **list)
{
	while (*list)
		remove_at(list);
}
