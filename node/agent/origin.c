/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Locks on the origins of clones.
 *
 * Invariant: a dataset and its snapshots share one key, the ZFS name of the dataset. So a clone of
 * one of them and the destroy of one of them never run at the same time.
 */
#include "node/agent/origin.h"

#include <string.h>

char *origin_key(struct arena *arena, const char *zfs_name)
{
	return arena_printf(arena, "origin %.*s", (int)strcspn(zfs_name, "@"), zfs_name);
}

/*
 * The lookup is repeated after locking, until name and key match: while the call waited for the
 * lock, the volume may have moved to the trash, which renames its snapshots.
 */
int origin_lock_key(struct rpc_call *call, const char *id, struct snapshot **ret, char **ret_key,
		    struct error *err)
{
	struct catalog *catalog = ((struct node *)call->app)->catalog;
	char *locked = NULL;

	for (;;) {
		int failed = catalog_snapshot(catalog, call->deadline, &call->arena, id, ret, err);
		*ret_key = failed ? NULL : origin_key(&call->arena, (*ret)->zfs_name);
		if (!failed && locked && !strcmp(locked, *ret_key))
			return 0;
		if (locked)
			catalog_unlock_key(catalog, locked);
		if (failed || catalog_lock_key(catalog, call->deadline, *ret_key, err) < 0)
			return -1;
		locked = *ret_key;
	}
}
