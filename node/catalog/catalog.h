/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_CATALOG_H
#define ZCSI_NODE_CATALOG_CATALOG_H

/*
 * The catalog: the pool's volumes and snapshots in memory. Reads are answered from it and run no
 * program. A thread of its own reads the whole pool at start, every rescan seconds, and when asked.
 * Names that the agent, or an event of ZFS, reports as changed are read one by one. While the pool
 * cannot be read the catalog has a problem text, and tries again by itself. Any thread.
 *
 * Results live in the arena given. Calls that arrive before the first reading has ended wait for
 * it, until their deadline or CATALOG_WAIT_MS.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"
#include "node/record/dataset.h"
#include "node/catalog/inventory.h"
#include "node/record/snapshot.h"

#define CATALOG_WAIT_MS 30000

struct catalog;

/* parent: pool/parent. Nothing is read before catalog_start. */
struct catalog *catalog_new(const char *parent, unsigned rescan_seconds);
/* Before the start: what the thread runs after each reading of the pool, and when asked. */
void catalog_on_read(struct catalog *catalog, void (*reap)(struct catalog *catalog, void *arg),
		     void *arg);
int catalog_start(struct catalog *catalog, struct error *err);
/* Stops the thread, after the program it runs. NULL and a catalog never started are fine. */
void catalog_free(struct catalog *catalog);

const char *catalog_parent(const struct catalog *catalog);

/* Read the pool again soon; returns at once. */
void catalog_rescan(struct catalog *catalog);
/* Read the pool now: what the catalog says afterwards is no older than this call. */
int catalog_refresh(struct catalog *catalog, int64_t deadline, struct error *err);
/*
 * ZFS contradicts what the catalog says of one name: read it again now. 0: the pool is there, and
 * the catalog right about it; -1: what is wrong with the pool.
 */
int catalog_reread(struct catalog *catalog, int64_t deadline, const char *zfs_name,
		   struct error *err);

/* ERR_UNAVAILABLE with the problem; ERR_NOT_FOUND only when there is none. */
int catalog_get(struct catalog *catalog, int64_t deadline, struct arena *arena, const char *id,
		struct dataset **ret, struct error *err);
int catalog_snapshot(struct catalog *catalog, int64_t deadline, struct arena *arena, const char *id,
		     struct snapshot **ret, struct error *err);
int catalog_snapshot_named(struct catalog *catalog, int64_t deadline, struct arena *arena,
			   const char *name, struct snapshot **ret, struct error *err);
/* All of a group; ERR_NOT_FOUND when there is none. */
int catalog_group(struct catalog *catalog, int64_t deadline, struct arena *arena, const char *group,
		  struct snapshot_list *ret, struct error *err);
/* At most max, from the first id after `after`. */
int catalog_page(struct catalog *catalog, int64_t deadline, struct arena *arena, const char *after,
		 size_t max, struct dataset_list *ret, bool *ret_more, struct error *err);
int catalog_snapshots(struct catalog *catalog, int64_t deadline, struct arena *arena,
		      const struct snapshot_query *query, struct snapshot_list *ret, bool *ret_more,
		      struct error *err);

struct catalog_pool {
	uint64_t guid;
	int64_t available;
	bool loading;        /* not read since the start: that is the problem */
	const char *problem; /* "" when there is none; in the arena */
};

/* Does not wait. */
void catalog_pool(struct catalog *catalog, struct arena *arena, struct catalog_pool *ret);

#endif
