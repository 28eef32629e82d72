/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_CHANGE_H
#define ZCSI_NODE_CATALOG_CHANGE_H

/*
 * Reporting changes of the pool to the catalog, and keys that serialize calls that change the same
 * object.
 */

#include "node/catalog/catalog.h"

/* Report a volume that the agent created or changed. */
void catalog_put(struct catalog *catalog, const struct dataset *dataset);
/* Report a snapshot that the agent created. */
void catalog_put_snapshot(struct catalog *catalog, const struct snapshot *snapshot);
/* Report that nothing has this name any more. */
void catalog_drop(struct catalog *catalog, const char *zfs_name);
/*
 * *ret is the snapshots of a dataset, for catalog_move. Call it before ZFS renames the dataset: a
 * reading in between does not find the old names, and removes the snapshots from the catalog.
 */
void catalog_snapshots_of(struct catalog *catalog, struct arena *arena,
			  const struct dataset *dataset, struct snapshot_list *ret);
/* Report that the dataset and these snapshots of it were renamed to `name`, with the same id. */
void catalog_move(struct catalog *catalog, const struct dataset *dataset, const char *name,
		  const struct snapshot_list *snapshots);
/* Report that the dataset got this id and name, and its snapshots with it. */
void catalog_rename(struct catalog *catalog, const struct dataset *dataset, const char *id,
		    const char *name, const struct snapshot_list *snapshots);
/*
 * Mark a name as possibly changed, so that it is read again within a second. The name is of the
 * parent, a volume, a trashed volume, or a snapshot of either.
 */
void catalog_mark_stale(struct catalog *catalog, const char *zfs_name);
/* Read the whole pool again soon, after the pause since the last reading. Returns at once. */
void catalog_rescan_soon(struct catalog *catalog);
/*
 * Set whether `zpool events` reports every change from now on. The whole pool is read soon in
 * either case, and from then on less often if `follows` is true.
 */
void catalog_follow(struct catalog *catalog, bool follows);

/* Wait for the end of the first reading, not on the catalog's thread. 0, or -1 with *err. */
int catalog_await(struct catalog *catalog, int64_t deadline, struct error *err);
/* *ret is all deleted volumes, or those with an id; none before the whole pool was read. */
void catalog_trashed(struct catalog *catalog, struct arena *arena, struct dataset_list *ret);
void catalog_trashed_of(struct catalog *catalog, struct arena *arena, const char *id,
			struct dataset_list *ret);
/*
 * *ret is all volumes with zcsi:members, deleted ones too; none before they are known. *ret_marks
 * has a number for each of these volumes, which changes when a snapshot of the volume is added.
 */
void catalog_with_members(struct catalog *catalog, struct arena *arena, struct dataset_list *ret,
			  uint64_t **ret_marks);
/* *ret is all volumes with a schedule of snapshots, without deleted ones. */
void catalog_scheduled(struct catalog *catalog, struct arena *arena, struct dataset_list *ret);
/* *ret is all volumes of which zcsi:volume has two ids, without deleted ones. */
void catalog_renaming(struct catalog *catalog, struct arena *arena, struct dataset_list *ret);
/*
 * Take the snapshots made for clones that ZFS does not destroy by itself. Each is returned once
 * after a reading of the whole pool. Returns how many there are in *ret.
 */
size_t catalog_take_origins(struct catalog *catalog, struct arena *arena, char ***ret);

/* Make the thread run the callback of catalog_on_read soon; returns at once. */
void catalog_reap(struct catalog *catalog);
/*
 * For a call that failed for lack of space: have the thread read the available space and run the
 * callback of catalog_on_read, which may empty the trash, and wait for that. Returns true if the
 * trash has fewer volumes then. The caller has no origin key locked.
 */
bool catalog_make_room(struct catalog *catalog, int64_t deadline);
/* Returns true after catalog_stop: the callback is to end soon. */
bool catalog_is_stopping(struct catalog *catalog);

/* Lock a key, waiting while another caller has it locked. ERR_ABORTED after the deadline. */
int catalog_lock_key(struct catalog *catalog, int64_t deadline, const char *key, struct error *err);
void catalog_unlock_key(struct catalog *catalog, const char *key);

#endif
