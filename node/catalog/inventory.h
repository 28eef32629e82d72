/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_INVENTORY_H
#define ZCSI_NODE_CATALOG_INVENTORY_H

/*
 * The inventory of the pool: volumes, trashed volumes and snapshots, each found by binary search.
 * It owns copies of its rows. Not thread-safe.
 */

#include <stdbool.h>
#include <stddef.h>

#include "node/catalog/index.h"
#include "node/record/listing.h"

struct inventory {
	struct index datasets;          /* by id */
	struct index datasets_by_name;  /* the same, by ZFS name */
	struct index trashed;           /* by ZFS name */
	struct index snapshots;         /* by id */
	struct index snapshots_by_name; /* the same, by ZFS name */
	struct index names;             /* of the same, by what CSI called them */
	struct index groups;            /* of those with a group, by group and id */
};

void inventory_init(struct inventory *inventory);
void inventory_fini(struct inventory *inventory);
/* Fill an empty inventory with all rows of a listing. */
void inventory_fill(struct inventory *inventory, const char *parent, struct listing *listing);

/* A dataset is put into the trash or not by its name. */
void inventory_put_dataset(struct inventory *inventory, const char *parent,
			   const struct dataset *dataset);
void inventory_put_snapshot(struct inventory *inventory, const char *parent,
			    const struct snapshot *snapshot);
/* Drop the row with this ZFS name; with a dataset, all its snapshots. */
void inventory_drop(struct inventory *inventory, const char *zfs_name);

/* The one with this ZFS name, deleted or not; NULL when there is none. */
const struct dataset *inventory_dataset(const struct inventory *inventory, const char *zfs_name);
/* All snapshots of the one with this ZFS name, copied. */
void inventory_snapshots_of(const struct inventory *inventory, struct arena *arena,
			    const char *zfs_name, struct snapshot_list *ret);
/* The one that CSI called so; NULL when there is none. */
const struct snapshot *inventory_named(const struct inventory *inventory, const char *name);
/* All snapshots of a group, as holdings_show has them. */
void inventory_group(const struct inventory *inventory, struct arena *arena, const char *group,
		     struct snapshot_list *ret);
/* The dataset that a snapshot is of, deleted or not; NULL when there is none. */
const struct dataset *inventory_owner(const struct inventory *inventory,
				      const struct snapshot *snapshot);
/* A copy that knows its dataset's guid and, if it was not recorded, its size. */
struct snapshot *inventory_show(const struct inventory *inventory, struct arena *arena,
				const struct snapshot *snapshot);

/* Which snapshots; at most max from the first id after `after`. Empty texts leave it open. */
struct snapshot_query {
	const char *after, *dataset_id;
	size_t max;
};

void inventory_page(const struct inventory *inventory, struct arena *arena,
		    const struct snapshot_query *query, struct snapshot_list *ret, bool *ret_more);

#endif
