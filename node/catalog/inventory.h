/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_HOLDINGS_H
#define ZCSI_HOLDINGS_H

/*
 * What the pool holds, in memory: volumes, deleted ones and snapshots, each found by binary
 * search. It owns copies of what it is given. Not for two threads at the same time.
 */

#include <stdbool.h>
#include <stddef.h>

#include "node/catalog/index.h"
#include "node/record/listing.h"

struct holdings {
	struct index datasets;  /* by id */
	struct index living;    /* the same, by ZFS name */
	struct index trashed;   /* by ZFS name */
	struct index snapshots; /* by id */
	struct index taken;     /* the same, by ZFS name */
	struct index names;     /* of the same, by what CSI called them */
	struct index groups;    /* of those with a group, by group and id */
};

void holdings_init(struct holdings *holdings);
void holdings_fini(struct holdings *holdings);
/* All of a reading, into empty holdings. */
void holdings_fill(struct holdings *holdings, const char *parent, struct reading *reading);

/* A dataset is put into the trash or not by its name. */
void holdings_put_dataset(struct holdings *holdings, const char *parent,
			  const struct dataset *dataset);
void holdings_put_snapshot(struct holdings *holdings, const char *parent,
			   const struct snapshot *snapshot);
/* What has this ZFS name; with a dataset all its snapshots. */
void holdings_drop(struct holdings *holdings, const char *zfs_name);

/* The one with this ZFS name, deleted or not; NULL when there is none. */
const struct dataset *holdings_dataset(const struct holdings *holdings, const char *zfs_name);
/* All snapshots of the one with this ZFS name, copied. */
void holdings_snapshots_of(const struct holdings *holdings, struct arena *arena,
			   const char *zfs_name, struct snapshot_list *ret);
/* The one that CSI called so; NULL when there is none. */
const struct snapshot *holdings_named(const struct holdings *holdings, const char *name);
/* All snapshots of a group, as holdings_show has them. */
void holdings_group(const struct holdings *holdings, struct arena *arena, const char *group,
		    struct snapshot_list *ret);
/* The dataset that a snapshot is of, deleted or not; NULL when there is none. */
const struct dataset *holdings_owner(const struct holdings *holdings,
				     const struct snapshot *snapshot);
/* A copy that knows its dataset's guid and, if it was not recorded, its size. */
struct snapshot *holdings_show(const struct holdings *holdings, struct arena *arena,
			       const struct snapshot *snapshot);

/* Which snapshots; at most max from the first id after `after`. Empty texts leave it open. */
struct snapshot_query {
	const char *after, *dataset_id;
	size_t max;
};

void holdings_page(const struct holdings *holdings, struct arena *arena,
		   const struct snapshot_query *query, struct snapshot_list *ret, bool *ret_more);

#endif
