/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Looking up volumes by lineage.
 *
 * Invariant: a deleted volume is known as long as a copy of it may be left somewhere, so a host
 * that returns does not bring it back.
 */
#include "node/owner/known.h"

#include <string.h>

#include "node/catalog/change.h"
#include "node/host/node.h"
#include "node/record/members.h"

static bool is_of(struct arena *arena, const struct dataset *volume, const char *lineage)
{
	struct members members;

	return members_parse(arena, volume->members, &members) &&
	       strcmp(members.lineage, lineage) == 0;
}

static struct dataset *find_deleted(struct rpc_call *call, const char *id, const char *lineage)
{
	const struct node *node = call->app;
	struct dataset_list volumes;
	uint64_t *marks;

	catalog_with_members(node->catalog, &call->arena, &volumes, &marks);
	for (size_t i = 0; i < volumes.n; i++)
		if (strcmp(volumes.rows[i]->id, id) == 0 &&
		    is_of(&call->arena, volumes.rows[i], lineage))
			return volumes.rows[i];
	return NULL;
}

int known_volume(struct rpc_call *call, const char *id, const char *lineage, struct dataset **ret,
		 struct error *err)
{
	const struct node *node = call->app;

	if (catalog_get(node->catalog, call->deadline, &call->arena, id, ret, err) < 0) {
		if (err->code != ERR_NOT_FOUND)
			return -1;
	} else if (is_of(&call->arena, *ret, lineage)) {
		return 0;
	}
	*ret = find_deleted(call, id, lineage);
	return 0;
}
