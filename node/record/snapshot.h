/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_SNAPSHOT_H
#define ZCSI_NODE_RECORD_SNAPSHOT_H

/*
 * What a snapshot is in ZFS: its leaf (what follows the '@'), its id, and the names that zcsi
 * keeps to itself. Nothing here runs a program.
 *
 *	vol@s1            that CSI asked for as s1
 *	vol@nightly_g     taken with the group nightly; no escape ends so
 *	vol@daily         that another tool made
 *	vol@_clone-other  the origin of the volume other, and nobody's business
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/mem.h"
#include "node/record/dataset.h"

/* One allocation, strings included: free() frees a snapshot_dup. */
struct snapshot {
	char *id;                    /* <volume id>@<leaf>, shortened past DATASET_ID_MAX bytes */
	char *name;                  /* what it was asked for as; "" for another tool's */
	char *dataset_id;            /* the volume's, deleted or not */
	char *zfs_name;              /* dataset@leaf */
	char *group;                 /* that it was taken with, or "" */
	const struct format *format; /* what the catalog answers has its dataset's; else NULL */
	uint64_t guid;               /* 0: made since the pool was last read */
	uint64_t dataset_guid;       /* what the catalog answers has it; else 0 */
	int64_t creation;            /* seconds since 1970 */
	bool has_key;                /* as its dataset has */
	int64_t size;                /* the source's when it was taken; 0: what it is now */
};

struct snapshot_list {
	struct snapshot **rows; /* by id, in the arena */
	size_t n;
};

/* The ZFS names of a dataset's snapshots, shortened to fit: for CSI, of a group, of a clone. */
char *snapshot_zfs_name(struct arena *arena, const char *dataset, const char *name);
char *snapshot_group_zfs_name(struct arena *arena, const char *dataset, const char *group);
char *snapshot_clone_zfs_name(struct arena *arena, const char *dataset, const char *clone_id);

/* The id of a snapshot of a volume; it tells what the id of any of its snapshots begins with. */
char *snapshot_id(struct arena *arena, const char *dataset_id, const char *leaf);
size_t snapshot_id_prefix(const char *dataset_id);

/* This leaf is the one, shortened or not, for a name or a group. */
bool snapshot_leaf_is(struct arena *arena, const char *leaf, const char *name);
bool snapshot_leaf_is_group(struct arena *arena, const char *leaf, const char *group);
/* A name of our own; and one that snapshot_clone_zfs_name makes. */
bool snapshot_leaf_is_hidden(const char *leaf);
bool snapshot_leaf_is_clone(const char *leaf);

/* zfs_name is that of a snapshot of this dataset. */
bool snapshot_is_of(const struct snapshot *snapshot, const char *dataset);
const char *snapshot_leaf(const struct snapshot *snapshot);

struct snapshot *snapshot_dup(const struct snapshot *from);
struct snapshot *snapshot_copy(struct arena *arena, const struct snapshot *from);

#endif
