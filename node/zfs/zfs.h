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

/* Append a property. One too many makes the function that gets the list fail. */
void zfs_property(struct zfs_properties *properties, const char *name, const char *value);

/* Create a filesystem, not mounted, with all its properties at once. */
int zfs_create(const char *name, const struct zfs_properties *properties, struct error *err);
/* Create a zvol of size bytes. Unless it is thin they are reserved, with ZFS's own needs. */
int zfs_create_zvol(const char *name, int64_t size, bool thin,
		    const struct zfs_properties *properties, struct error *err);
int zfs_clone(const char *snapshot, const char *name, const struct zfs_properties *properties,
	      struct error *err);
/* Set all properties, or none as far as can be told. Several properties take several programs. */
int zfs_set(const char *name, const struct zfs_properties *properties, struct error *err);
int zfs_rename(const char *name, const char *other, struct error *err);
/*
 * Destroy a dataset that nothing depends on; never recursive, never forced. ERR_ALREADY_EXISTS when
 * a snapshot or child came at that very moment.
 */
int zfs_destroy(const char *name, struct error *err);
/*
 * Destroy a dataset in the same step of the kernel that proves it to be this volume, unpublished;
 * only where channel programs run (zfs-program(8)). Returns false when it was not destroyed, or
 * that is unknown: prove and destroy it in two steps then. volume: the value of zcsi:volume; guid:
 * 0 is not compared.
 */
bool zfs_destroy_proven(const char *name, uint64_t guid, const char *volume);

/* Take snapshots at one instant, all or none. ERR_FAILED_PRECONDITION for several with zfs-fuse. */
int zfs_snapshot(const char *const *names, size_t n, const struct zfs_properties *properties,
		 struct error *err);
/*
 * Destroy a snapshot; one that clones depend on goes with the last of them. A held snapshot stays:
 * ERR_FAILED_PRECONDITION.
 */
int zfs_destroy_snapshot(const char *name, struct error *err);
/* As zfs_destroy_snapshot, without a look at holds: for snapshots that only zcsi knows of. */
int zfs_destroy_origin(const char *name, struct error *err);

/* ERR_FAILED_PRECONDITION when zvols have no devices here, as with zfs-fuse. */
int zfs_check_devices(struct error *err);
/* Returns true if `zpool events` reports changes: with the kernel's ZFS, to root. */
bool zfs_tells_events(void);

/* Mount a filesystem at an empty directory. ERR_UNAUTHENTICATED when its key is not loaded. */
int zfs_mount(const char *name, const char *path, struct error *err);

#endif
