/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_INVENTORY_H
#define ZCSI_NODE_CATALOG_INVENTORY_H

/*
 * The inventory of the pool: volumes, trashed volumes, snapshots and damaged names, which are found
 * by binary search. It owns copies of its rows. Not thread-safe.
 */

#include <stdbool.h>
#include <stddef.h>

#include "node/catalog/index.h"
#include "node/record/listing.h"

struct inventory {
	struct index datasets;          /* all volumes, by id */
	struct index datasets_by_name;  /* all volumes, by ZFS name */
	struct index trashed;           /* deleted volumes, by ZFS name */
	struct index snapshots;         /* all snapshots, by id */
	struct index snapshots_by_name; /* all snapshots, by ZFS name */
	struct index names;             /* snapshots of CreateSnapshot, by CSI's name */
	struct index groups;            /* snapshots with a group, by group and id */
	struct index damaged;           /* ZFS names whose zcsi properties cannot be read */
};

void inventory_init(struct inventory *inventory);
void inventory_fini(struct inventory *inventory);
/* Fill an empty inventory with all rows of a listing. */
void inventory_fill(struct inventory *inventory, const char *parent, struct listing *listing);

/* Insert a copy of the volume, or of the trashed volume if its name is below the trash. */
void inventory_put_dataset(struct inventory *inventory, const char *parent,
			   const struct dataset *dataset);
/* Insert a copy of the snapshot, if its dataset is in the inventory. */
void inventory_put_snapshot(struct inventory *inventory, const char *parent,
			    const struct snapshot *snapshot);
/* Remove the row with this ZFS name, and, if it is a dataset, its snapshots. */
void inventory_drop(struct inventory *inventory, const char *zfs_name);

/* Remove the row with this ZFS name as inventory_drop does, and record that the name is damaged. */
void inventory_damage(struct inventory *inventory, const char *zfs_name);
/* Returns true if a dataset or snapshot with this ZFS name exists and is damaged. */
bool inventory_is_damaged(const struct inventory *inventory, const char *zfs_name);

/* Returns the volume, deleted or not, with this ZFS name, or NULL. */
const struct dataset *inventory_dataset(const struct inventory *inventory, const char *zfs_name);
/* *ret is copies of all snapshots of the dataset with this ZFS name, in the arena. */
void inventory_snapshots_of(const struct inventory *inventory, struct arena *arena,
			    const char *zfs_name, struct snapshot_list *ret);
/* Returns the snapshot that CreateSnapshot created with this name, or NULL. */
const struct snapshot *inventory_named(const struct inventory *inventory, const char *name);
/* *ret is all snapshots of the group, as inventory_show returns them. */
void inventory_group(const struct inventory *inventory, struct arena *arena, const char *group,
		     struct snapshot_list *ret);
/* Returns the snapshot's volume, deleted or not; NULL if the inventory does not contain it. */
const struct dataset *inventory_owner(const struct inventory *inventory,
				      const struct snapshot *snapshot);
/* Returns a copy with the guid and format of its volume, and its size if none was recorded. */
struct snapshot *inventory_show(const struct inventory *inventory, struct arena *arena,
				const struct snapshot *snapshot);

/* Returns a number that changes when a snapshot of the dataset is added. */
uint64_t inventory_mark(const struct inventory *inventory, const char *zfs_name);

/* A page of at most max snapshots with ids after `after`; dataset_id "": of all volumes. */
struct snapshot_query {
	const char *after, *dataset_id;
	size_t max;
};

/* *ret is the page, in the arena; *ret_more is true if it is not the last. */
void inventory_page(const struct inventory *inventory, struct arena *arena,
		    const struct snapshot_query *query, struct snapshot_list *ret, bool *ret_more);

#endif
