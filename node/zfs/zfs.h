/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_ZFS_H
#define ZCSI_NODE_ZFS_ZFS_H

/*
 * Changing the pool with zfs(8). Functions run one program unless they say otherwise, and block:
 * call them on workers and the catalog's thread only. They return 0, or -1 with *err, which quotes
 * zfs and says what to do. ERR_NOT_FOUND: the dataset or its pool is missing (zfs does not
 * distinguish them). ERR_ALREADY_EXISTS. ERR_UNAVAILABLE: the pool or the parent is missing or
 * suspended. ERR_FAILED_PRECONDITION: the dataset is in use.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "node/record/snapshot.h"

struct zfs_property {
	const char *name;
	const char *value;
};

#define ZFS_PROPERTIES_MAX 48

struct zfs_properties {
	struct zfs_property rows[ZFS_PROPERTIES_MAX];
	size_t n;
	const char *key; /* the stdin of zfs, for keylocation=prompt; or NULL */
};

/* Append a property. With more than ZFS_PROPERTIES_MAX, the function that gets the list fails. */
void zfs_property(struct zfs_properties *properties, const char *name, const char *value);
/* Write "-o", "name=value" for each property. Returns the number of words, two a property. */
size_t zfs_property_options(struct arena *arena, const struct zfs_properties *properties,
			    const char **ret_argv);

/* Create a filesystem, not mounted, with all its properties at once. */
int zfs_create(const char *name, const struct zfs_properties *properties, struct error *err);
/* Create a dataset that only has others below it, like the trash; on a full pool too. */
int zfs_create_folder(const char *name, struct error *err);
/* Create a zvol of size bytes. Unless thin, reserve them and the metadata that ZFS needs. */
int zfs_create_zvol(const char *name, int64_t size, bool thin,
		    const struct zfs_properties *properties, struct error *err);
/* Create a clone of the snapshot, with all its properties at once; zfs-fuse also mounts it. */
int zfs_clone(const char *snapshot, const char *name, const struct zfs_properties *properties,
	      struct error *err);
/*
 * Give a clone its origin and all earlier snapshots. ERR_ALREADY_EXISTS if it is no clone any more.
 */
int zfs_promote(const char *name, struct error *err);
/* Set all properties or none, with several programs if one is native; or inherit one. */
int zfs_set(const char *name, const struct zfs_properties *properties, struct error *err);
int zfs_inherit(const char *name, const char *property, struct error *err);
/* Rename a dataset from `name` to `other`; zfs-fuse unmounts its clones then (fuse_clones). */
int zfs_rename(const char *name, const char *other, struct error *err);
/* Destroy a dataset that nothing depends on, never by force. ERR_ALREADY_EXISTS: it got a child. */
int zfs_destroy(const char *name, struct error *err);
/*
 * Destroy a dataset in one atomic step if it is this volume (the value of zcsi:volume; guid: 0 is
 * not compared) and not published. If false, it may still exist: check and destroy in two steps.
 */
bool zfs_destroy_proven(const char *name, uint64_t guid, const char *volume);
/* Like zfs_destroy_proven, of a snapshot with a CSI name; false too if it has a clone or hold. */
bool zfs_destroy_snapshot_proven(struct arena *arena, const struct snapshot *snapshot);
/* Take n snapshots at one instant, or none. ERR_FAILED_PRECONDITION for n > 1 with zfs-fuse. */
int zfs_snapshot(const char *const *names, size_t n, const struct zfs_properties *properties,
		 struct error *err);
/* Destroy a snapshot, or defer that while it has clones; held: zfs_destroy_snapshot fails. */
int zfs_destroy_snapshot(const char *name, struct error *err);
int zfs_destroy_origin(const char *name, struct error *err);
/* Returns -1 with ERR_FAILED_PRECONDITION if zvols have no devices here, as with zfs-fuse. */
int zfs_check_devices(struct error *err);
/* Returns true if `zpool events` reports changes, which needs the kernel's ZFS and root. */
bool zfs_reports_events(void);
/* Mount a filesystem at an empty directory. ERR_UNAUTHENTICATED if its key is not loaded. */
int zfs_mount(const char *name, const char *path, struct error *err);

#endif
