/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_CHANGE_H
#define ZCSI_NODE_CATALOG_CHANGE_H

/* Changes of the pool, reported to the catalog, and the keys by which changes take turns. */

#include "node/catalog/catalog.h"

/* The agent has made or changed it; or what had this name is gone. */
void catalog_put(struct catalog *catalog, const struct dataset *dataset);
void catalog_put_snapshot(struct catalog *catalog, const struct snapshot *snapshot);
void catalog_drop(struct catalog *catalog, const char *zfs_name);
/*
 * A dataset and these snapshots of it have this name now, in the trash. They are listed before ZFS
 * renames it: a reading in between finds none of the old names and forgets them.
 */
void catalog_snapshots_of(struct catalog *catalog, struct arena *arena,
			  const struct dataset *dataset, struct snapshot_list *ret);
void catalog_move(struct catalog *catalog, const struct dataset *dataset, const char *name,
		  const struct snapshot_list *snapshots);

/*
 * Mark a name as possibly changed, so that it is read again within a second: the parent, a volume,
 * a trashed one, or a snapshot of one.
 */
void catalog_mark_stale(struct catalog *catalog, const char *zfs_name);
/*
 * Anything may have changed: read the whole pool again soon, though not without a pause in between.
 */
void catalog_rescan_soon(struct catalog *catalog);
/*
 * Events of ZFS report every change from now on, or no longer do. The pool is read now, and from
 * then on seldom, or often.
 */
void catalog_follow(struct catalog *catalog, bool told);

/*
 * All deleted volumes; and the snapshots made for clones that would not go by themselves, each
 * once in a reading of all.
 */
void catalog_trashed(struct catalog *catalog, struct arena *arena, struct dataset_list *ret);
size_t catalog_take_origins(struct catalog *catalog, struct arena *arena, char ***ret);

/* Run soon what follows a reading; returns at once. */
void catalog_reap(struct catalog *catalog);

/* Lock a key. Callers with the same key take turns. Returns -1 with ERR_ABORTED at the deadline. */
int catalog_lock_key(struct catalog *catalog, int64_t deadline, const char *key, struct error *err);
void catalog_unlock_key(struct catalog *catalog, const char *key);

#endif
