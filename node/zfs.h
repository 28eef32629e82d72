/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_ZFS_H
#define ZCSI_ZFS_H

/*
 * Verbs over zfs(8) and zpool(8). Each runs one program and blocks: for workers and the catalog's
 * thread only. Errors carry zfs's own words, a code for them and what to do: ERR_NOT_FOUND when
 * the dataset or its pool is missing (zfs does not tell them apart), ERR_ALREADY_EXISTS,
 * ERR_UNAVAILABLE when the pool or the parent is, ERR_FAILED_PRECONDITION when it is in use.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"
#include "node/reading.h"

struct zfs_property {
	const char *name;
	const char *value;
};

#define ZFS_PROPERTIES_MAX 48

struct zfs_properties {
	struct zfs_property rows[ZFS_PROPERTIES_MAX];
	size_t n;
};

/* Beyond the last one it is dropped, and the verb that gets them says so. */
void zfs_property(struct zfs_properties *properties, const char *name, const char *value);

/* A filesystem that is not mounted, with all its properties at once; a clone of a snapshot. */
int zfs_create(const char *name, const struct zfs_properties *properties, struct error *err);
int zfs_clone(const char *snapshot, const char *name, const struct zfs_properties *properties,
	      struct error *err);
/* All, or none as far as can be told; several programs when there are several properties. */
int zfs_set(const char *name, const struct zfs_properties *properties, struct error *err);
int zfs_rename(const char *name, const char *other, struct error *err);
/*
 * Only a dataset that nothing depends on; never recursive, never forced. ERR_ALREADY_EXISTS when
 * something that does came at that very moment.
 */
int zfs_destroy(const char *name, struct error *err);

/*
 * Snapshots of one instant, all or none. Of more than one zfs-fuse cannot:
 * ERR_FAILED_PRECONDITION.
 */
int zfs_snapshot(const char *const *names, size_t n, const struct zfs_properties *properties,
		 struct error *err);
/*
 * A snapshot that clones depend on goes with the last of them. One that somebody holds stays:
 * ERR_FAILED_PRECONDITION.
 */
int zfs_destroy_snapshot(const char *name, struct error *err);
/* The same, and without a look at who holds it: for snapshots that only we know of. */
int zfs_destroy_origin(const char *name, struct error *err);

/* All below the parent. A reading's rows are in the arena; its text is the caller's to free. */
int zfs_list(struct arena *arena, const char *parent, struct reading *ret, struct error *err);
/* The parent and these of what is below it, as ZFS has them now; those not there are left out. */
int zfs_read(struct arena *arena, const char *parent, const char *const *names, size_t n,
	     struct reading *ret, struct error *err);
/* One dataset and all that is right below it, snapshots too. */
int zfs_read_family(struct arena *arena, const char *parent, const char *name, struct reading *ret,
		    struct error *err);
/* How many hold a snapshot. */
int zfs_userrefs(const char *name, uint64_t *ret, struct error *err);
int zfs_pool_guid(const char *parent, uint64_t *ret, struct error *err);

/* Mount a volume that is mounted nowhere at an empty directory: two programs with zfs-fuse. */
int zfs_mount(const char *name, const char *path, struct error *err);

#endif
