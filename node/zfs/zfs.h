/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_ZFS_H
#define ZCSI_NODE_ZFS_ZFS_H

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

struct zfs_property {
	const char *name;
	const char *value;
};

#define ZFS_PROPERTIES_MAX 48

struct zfs_properties {
	struct zfs_property rows[ZFS_PROPERTIES_MAX];
	size_t n;
	const char *key; /* what keylocation=prompt is to read; or NULL */
};

/* Beyond the last one it is dropped, and the verb that gets them says so. */
void zfs_property(struct zfs_properties *properties, const char *name, const char *value);

/* A filesystem that is not mounted, with all its properties at once; a clone of a snapshot. */
int zfs_create(const char *name, const struct zfs_properties *properties, struct error *err);
/* A zvol of so many bytes; unless it is thin they are reserved, with what ZFS needs beside them. */
int zfs_create_zvol(const char *name, int64_t size, bool thin,
		    const struct zfs_properties *properties, struct error *err);
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
 * The same at the instant at which ZFS itself proves it to be this volume, which nobody has: where
 * the kernel's runs programs of ours. False: it was not destroyed, or nobody knows; prove it, and
 * destroy it then. volume: as zcsi:volume has it; guid: 0 is not asked.
 */
bool zfs_destroy_proven(const char *name, uint64_t guid, const char *volume);

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

/* ERR_FAILED_PRECONDITION where zvols are no devices: with zfs-fuse. */
int zfs_check_devices(struct error *err);
/* `zpool events` tells of changes here; not with zfs-fuse, and to root alone. */
bool zfs_tells_events(void);

/* Mount it at an empty directory. ERR_UNAUTHENTICATED: its key is not loaded (node/zfs/key.h). */
int zfs_mount(const char *name, const char *path, struct error *err);

#endif
