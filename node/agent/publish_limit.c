/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Counting the volumes that are published to a node, without idle publications.
 *
 * Invariant: each check counts the records of all volumes again, so the count cannot drift. This is
 * linear in the number of volumes, and runs only if --max-volumes is set.
 */
#include "node/agent/publish_limit.h"

#include <stdio.h>
#include <string.h>

#include "node/agent/agent.h"
#include "node/record/publication.h"

static bool is_published_to(struct arena *arena, const struct dataset *dataset, const char *node_id)
{
	struct publication_list published;

	publication_parse(arena, dataset->published, &published);
	for (size_t i = 0; i < published.n; i++)
		if (!published.rows[i].idle && !strcmp(published.rows[i].node_id, node_id))
			return true;
	return false;
}

static int count_page(struct rpc_call *call, char after[DATASET_ID_MAX + 1], const char *node_id,
		      unsigned *count, bool *ret_more, struct error *err)
{
	const struct node *node = call->app;
	struct dataset_list page;
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	int result;

	result = catalog_page(node->catalog, call->deadline, &arena, after, AGENT_PAGE_MAX, &page,
			      ret_more, err);
	for (size_t i = 0; !result && i < page.n; i++) {
		*count += is_published_to(&arena, page.rows[i], node_id);
		snprintf(after, DATASET_ID_MAX + 1, "%s", page.rows[i]->id);
	}
	return result;
}

int publish_limit_check(struct rpc_call *call, const char *node_id, struct error *err)
{
	const struct node *node = call->app;
	char after[DATASET_ID_MAX + 1] = "";
	unsigned count = 0;
	bool more = true;

	while (more)
		if (count_page(call, after, node_id, &count, &more, err) < 0)
			return -1;
	if (count < node->max_volumes)
		return 0;
	return fail(
		err, ERR_RESOURCE_EXHAUSTED,
		"node '%s' has %u volumes attached, and --max-volumes allows %u; stop a job there "
		"that uses one, or use another node",
		node_id, count, node->max_volumes);
}
