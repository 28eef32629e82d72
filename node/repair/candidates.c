/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Choosing the node that takes the place of a lost one, as a controller chooses the nodes of a new
 * volume (controller/replicas.c): first those whose topology differs most from this host's, then by
 * available space.
 *
 * Invariant: the choice depends only on the answers of the hosts, the volume and its members.
 */
#include "node/repair/candidates.h"

#include <stdlib.h>
#include <string.h>

#include "common/volume/plugin.h"

struct candidate {
	const GetHostResponse *host;
	size_t differs; /* how many topology segments it does not share with this host */
};

static bool has_segment(const struct node *node, const Segment *segment)
{
	for (size_t i = 0; i < node->n_topology; i++)
		if (strcmp(node->topology[i].key, segment->key) == 0)
			return strcmp(node->topology[i].value, segment->value) == 0;
	return false;
}

/* Count the topology segments that differ, except the one that names the node itself. */
static size_t difference(const GetHostResponse *host, const struct node *node)
{
	size_t n = 0;

	for (size_t i = 0; i < host->n_topology; i++)
		n += strcmp(host->topology[i]->key, PLUGIN_TOPOLOGY_KEY) != 0 &&
		     !has_segment(node, host->topology[i]);
	return n;
}

static int best_first(const void *a, const void *b)
{
	const struct candidate *one = a, *other = b;

	if (one->differs != other->differs)
		return one->differs > other->differs ? -1 : 1;
	if (one->host->available != other->host->available)
		return one->host->available > other->host->available ? -1 : 1;
	return strcmp(one->host->node_id, other->host->node_id);
}

static bool can_have(const GetHostResponse *host, const struct node *node,
		     const struct dataset *volume, const struct members *members)
{
	return *host->dataset && !*host->no_copies && !*host->problem &&
	       host->available > volume->used && strcmp(host->node_id, node->id) != 0 &&
	       !members_have(members, host->node_id) && !members_owe(members, host->node_id);
}

const char **candidates_choose(struct arena *arena, const struct node *node,
			       const struct peers_host *hosts, size_t n_hosts,
			       const struct dataset *volume, const struct members *members,
			       size_t *ret_n)
{
	struct candidate *list = arena_alloc(arena, (n_hosts + 1) * sizeof(*list));
	const char **ids = arena_alloc(arena, (n_hosts + 1) * sizeof(*ids));
	size_t n = 0;

	for (size_t i = 0; i < n_hosts; i++) {
		const GetHostResponse *host = hosts[i].says;
		if (host && can_have(host, node, volume, members))
			list[n++] = (struct candidate){host, difference(host, node)};
	}
	qsort(list, n, sizeof(*list), best_first);
	for (size_t i = 0; i < n; i++)
		ids[i] = list[i].host->node_id;
	*ret_n = n;
	return ids;
}
