/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A volume looked at: its mount, the filesystem behind it, its pool.
 *
 * Invariant: a filesystem that does not answer is a fact like the others, and holds nobody up.
 */
#include "node/csi/examine.h"

#include "node/mount/kind.h"
#include "node/mount/usage.h"

#define ANSWER_MS 5000 /* what a filesystem that works needs at the very most */
#define HURRY_MS  200  /* what is left of the caller's deadline to send the answer */

static int64_t answer_deadline(const struct rpc_call *call)
{
	int64_t limit = now_ms() + ANSWER_MS;

	return call->deadline == NO_DEADLINE || call->deadline - HURRY_MS > limit
		       ? limit
		       : call->deadline - HURRY_MS;
}

/* While the pool is still being read there is nothing to say of it, nor to wait for. */
static void ask_catalog(struct rpc_call *call, const char *id, struct condition_facts *facts)
{
	struct node *node = call->app;
	struct dataset *dataset;
	struct catalog_pool pool;
	struct error err = {.code = ERR_OK};

	if (!node->catalog)
		return;
	catalog_get(node->catalog, now_ms(), &call->arena, id, &dataset, &err);
	facts->has_dataset = err.code != ERR_NOT_FOUND;
	catalog_pool(node->catalog, &call->arena, &pool);
	if (!pool.loading)
		facts->pool_problem = pool.problem;
}

void examine(struct rpc_call *call, const char *id, const struct mount_table *table,
	     const struct mount *mount, struct condition_facts *ret, struct statvfs *ret_fs)
{
	*ret = (struct condition_facts){.mount = mount, .pool_problem = ""};
	*ret_fs = (struct statvfs){0};
	if (mount) {
		ret->top = mount_at(table, mount->target);
		if (ret->top == mount)
			ret->error = usage_ask(mount, answer_deadline(call), ret_fs);
		ret->frozen = ret_fs->f_flag & ST_RDONLY;
	}
	/* Of what another host exports, its own agent knows the pool. */
	ret->has_dataset = mount && mount_is_network(mount);
	if (!ret->has_dataset)
		ask_catalog(call, id, ret);
}
