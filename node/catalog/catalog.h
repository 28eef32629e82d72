/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_CATALOG_H
#define ZCSI_NODE_CATALOG_CATALOG_H

/*
 * The catalog: a copy of the pool's volumes and snapshots in memory. Reading it runs no program. A
 * thread reads the whole pool at start, every rescan_seconds, and on request. In between it reads
 * the names that the agent, or an event of ZFS, reports as changed. While the pool cannot be read,
 * the catalog has a problem text, and the thread tries again. Any thread.
 *
 * Results live in the given arena. Functions that return int return 0, or -1 with *err. Before the
 * first reading has ended calls wait for it, until their deadline or CATALOG_WAIT_MS. But
 * catalog_get and catalog_snapshot run a program then, for the volume alone.
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
/* Returns a catalog of pool/parent. Nothing is read before catalog_start. */
struct catalog *catalog_new(const char *parent, unsigned rescan_seconds);
/* Set the callback that the thread runs after each scan and catalog_reap. Call before the start. */
void catalog_on_read(struct catalog *catalog, void (*reap)(struct catalog *catalog, void *arg),
		     void *arg);
/* Open the lock file and start the thread. */
int catalog_start(struct catalog *catalog, struct error *err);
/* Kill each zfs that reads the pool, and begin to stop. Calls that need such a zfs fail then. */
void catalog_stop(struct catalog *catalog);
/* Stop the thread, wait for its end, and free the catalog, which may be NULL. */
void catalog_free(struct catalog *catalog);
const char *catalog_parent(const struct catalog *catalog);
/* Make the thread read the whole pool now, and return at once; or wait for the end of that. */
void catalog_rescan(struct catalog *catalog);
int catalog_refresh(struct catalog *catalog, int64_t deadline, struct error *err);
/*
 * Read one name again, because ZFS and the catalog differ about it. Returns 0 if the catalog is
 * right about the name now, or -1 with the problem of the pool or of a damaged name.
 */
int catalog_reread(struct catalog *catalog, int64_t deadline, const char *zfs_name,
		   struct error *err);

/* ERR_UNAVAILABLE if the pool has a problem or the volume is damaged, else ERR_NOT_FOUND. */
int catalog_get(struct catalog *catalog, int64_t deadline, struct arena *arena, const char *id,
		struct dataset **ret, struct error *err);
int catalog_snapshot(struct catalog *catalog, int64_t deadline, struct arena *arena, const char *id,
		     struct snapshot **ret, struct error *err);
int catalog_snapshot_named(struct catalog *catalog, int64_t deadline, struct arena *arena,
			   const char *name, struct snapshot **ret, struct error *err);
int catalog_group(struct catalog *catalog, int64_t deadline, struct arena *arena, const char *group,
		  struct snapshot_list *ret, struct error *err);
/* *ret is at most max volumes, from the first id after `after`. *ret_more: there are more. */
int catalog_page(struct catalog *catalog, int64_t deadline, struct arena *arena, const char *after,
		 size_t max, struct dataset_list *ret, bool *ret_more, struct error *err);
int catalog_snapshots(struct catalog *catalog, int64_t deadline, struct arena *arena,
		      const struct snapshot_query *query, struct snapshot_list *ret, bool *ret_more,
		      struct error *err);

struct catalog_pool {
	uint64_t guid;
	uint64_t names; /* version of the set of names; 0 while the pool is not ready */
	int64_t available, reserved; /* bytes of the parent dataset when it was last read */
	int64_t capacity;            /* bytes that all volumes use, and `available`; 0: unknown */
	bool complete;               /* no dataset or snapshot is damaged, so all names are known */
	bool loading, reading; /* first reading has not ended; reading: but has read the parent */
	char *health;          /* health of the pool, in the arena: "ONLINE"; "": not read yet */
	char *device, *device_state; /* the members of struct device, in the arena */
	const char *problem;         /* why the pool is not ready, in the arena; "": it is */
};
/* *ret is the state of the pool. Never waits. */
void catalog_pool(struct catalog *catalog, struct arena *arena, struct catalog_pool *ret);

#endif
