/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Keys on origins. See origin.h.
 *
 * Invariant: a dataset and its snapshots share one key, the dataset's ZFS name, so a clone of any
 * of them and the end of any of them take turns.
 */
#include "node/agent/origin.h"

#include <string.h>

char *origin_key(struct arena *arena, const char *zfs_name)
{
	return arena_printf(arena, "origin %.*s", (int)strcspn(zfs_name, "@"), zfs_name);
}

/*
 * Lock the origin, and look it up again: its volume may have gone to the trash meanwhile, and the
 * snapshot has another name then.
 */
int origin_lock_key(struct rpc_call *call, const char *id, struct snapshot **ret, char **ret_key,
		    struct error *err)
{
	struct catalog *catalog = ((struct node *)call->app)->catalog;
	char *claimed = NULL;

	for (;;) {
		int failed = catalog_snapshot(catalog, call->deadline, &call->arena, id, ret, err);
		*ret_key = failed ? NULL : origin_key(&call->arena, (*ret)->zfs_name);
		if (!failed && claimed && !strcmp(claimed, *ret_key))
			return 0;
		if (claimed)
			catalog_unlock_key(catalog, claimed);
		if (failed || catalog_lock_key(catalog, call->deadline, *ret_key, err) < 0)
			return -1;
		claimed = *ret_key;
	}
}
