/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_SNAPSHOT_H
#define ZCSI_NODE_RECORD_SNAPSHOT_H

/*
 * The record of a snapshot, its id, and its leaf, which is the part of its ZFS name after the '@'.
 * Runs no program. Any thread.
 *
 *	vol@s1            CreateSnapshot with the name "s1"
 *	vol@nightly_g     CreateVolumeGroupSnapshot named "nightly"; no escaped name ends in _g
 *	vol@daily         made by another tool
 *	vol@<time>_daily  taken by the schedule of the volume (node/record/scheduled.h)
 *	vol@_clone-other  the origin of the clone "other"; hidden
 *	vol@_repl-<time>  taken for the copies on other nodes; hidden
 *	vol@_backup-<time>-<node>  taken for the backup on a node; hidden
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/mem.h"
#include "node/record/dataset.h"

#define SNAPSHOT_PUSHED "_repl-"
#define SNAPSHOT_BACKUP "_backup-"

/* format and dataset_guid are set in the copies that the catalog returns; else NULL and 0. */
struct snapshot {
	char *id;                    /* <volume id>@<leaf>; shortened past DATASET_ID_MAX bytes */
	char *name;                  /* the name in CSI; "" if another tool made it */
	char *dataset_id;            /* the volume's id; the volume may be deleted */
	char *zfs_name;              /* dataset@leaf */
	char *group;                 /* the name of its group, or "" */
	const struct format *format; /* the format of its volume */
	uint64_t guid;               /* 0: made since the pool was last read */
	uint64_t dataset_guid;       /* the guid of its volume's dataset */
	int64_t creation;            /* seconds since 1970 */
	bool has_key;                /* zcsi loads and unloads its key (node/zfs/key.h) */
	int64_t size;                /* bytes, of its volume when it was made; 0: not recorded */
};

struct snapshot_list {
	struct snapshot **rows; /* in the order of their ids */
	size_t n;
};

/* Returns the ZFS name of the snapshot with this CSI name, shortened to fit. */
char *snapshot_zfs_name(struct arena *arena, const char *dataset, const char *name);
/* Returns the ZFS name of the dataset's snapshot in this group, shortened to fit. */
char *snapshot_group_zfs_name(struct arena *arena, const char *dataset, const char *group);
/* Returns the ZFS name of the origin of the clone with this id, shortened to fit. */
char *snapshot_clone_zfs_name(struct arena *arena, const char *dataset, const char *clone_id);

/* Returns the id of a snapshot. */
char *snapshot_id(struct arena *arena, const char *dataset_id, const char *leaf);
/* Returns how many leading bytes of "<dataset_id>@" all ids of its snapshots have in common. */
size_t snapshot_id_prefix(const char *dataset_id);

/* Returns true if the leaf is that of this CSI name, shortened or not. */
bool snapshot_leaf_is(struct arena *arena, const char *leaf, const char *name);
/* Returns true if the leaf is that of this group, shortened or not. */
bool snapshot_leaf_is_group(struct arena *arena, const char *leaf, const char *group);
/* Returns true if zcsi keeps a snapshot with this leaf for itself. */
bool snapshot_leaf_is_hidden(const char *leaf);
/* Returns true if snapshot_clone_zfs_name made the leaf. */
bool snapshot_leaf_is_clone(const char *leaf);

/* Returns true if it is a snapshot of the dataset with this ZFS name. */
bool snapshot_is_of(const struct snapshot *snapshot, const char *dataset);
/* Returns a pointer to the leaf in zfs_name. */
const char *snapshot_leaf(const struct snapshot *snapshot);

/* Returns a copy in one allocation, which free() releases. */
struct snapshot *snapshot_dup(const struct snapshot *from);
/* Returns a copy in the arena. */
struct snapshot *snapshot_copy(struct arena *arena, const struct snapshot *from);

#endif
