/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_EARLY_H
#define ZCSI_NODE_CATALOG_EARLY_H

/*
 * The catalog before the end of the first reading, which takes minutes if there are many snapshots.
 * First single volumes can be read, and then all volumes are known, without their snapshots.
 */

#include "node/catalog/journal.h"

/*
 * If the first reading has begun at the mark, read what is needed for the states READING and
 * VOLUMES (catalog_inside.h). With zfs-fuse the state stays READING. Called without the mutex.
 * Returns 0, or -1 with the problem of the pool.
 */
int early_read(struct catalog *catalog, size_t mark, uint64_t guid, struct error *err);

/*
 * Returns true if the first reading is not over, and the inventory is right about this volume. If
 * needed, the volume and its snapshots are read, unless the deadline has passed. Called with the
 * mutex, which is released meanwhile.
 */
bool early_volume(struct catalog *catalog, int64_t deadline, const char *id, const char *zfs_name);
/*
 * Returns the snapshot with this id if it is of a volume that is not deleted, which is read like in
 * early_volume; or NULL: it does not exist, or may be of a deleted volume.
 */
const struct snapshot *early_snapshot(struct catalog *catalog, int64_t deadline,
				      struct arena *arena, const char *id);

#endif
