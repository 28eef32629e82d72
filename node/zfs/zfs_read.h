/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_ZFS_READ_H
#define ZCSI_NODE_ZFS_ZFS_READ_H

/*
 * Reading the pool with zfs(8) and zpool(8). Each function runs one program, blocks, and returns 0,
 * or -1 with *err like the functions of node/zfs/zfs.h. name: a dataset or a snapshot.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"
#include "node/record/listing.h"

/* *ret is lines of "property\tvalue" of the parent itself; the caller frees it. */
int zfs_parent(const char *parent, char **ret, struct error *err);
/* *ret is the output of `zfs allow` for the parent; the caller frees it. */
int zfs_allow(const char *parent, char **ret, struct error *err);
/* Fail because the parent itself does not exist. Always returns -1. */
int zfs_no_parent(const char *parent, struct error *err);
/*
 * Fail because the name has a value with a control character, so that it is unknown whether it is a
 * volume or snapshot. Always returns -1.
 */
int zfs_fail_damaged(const char *name, struct error *err);
/* Fail because zfs_rows_accepted() is false. Always returns -1. */
int zfs_fail_rejected(struct error *err);
/* Returns a random property, in the arena, which no value can contain already (zfs_rows.h). */
char *zfs_read_marker(struct arena *arena);
/*
 * Read the parent and everything below it. The rows live in the arena; the caller frees ret->text.
 * ERR_UNAVAILABLE if the output may be forged, or if the parent is damaged.
 */
int zfs_list(struct arena *arena, const char *parent, struct listing *ret, struct error *err);
/* Read the parent and the datasets directly below it, like zfs_list. Not for zfs-fuse. */
int zfs_list_children(struct arena *arena, const char *parent, struct listing *ret,
		      struct error *err);
/* Read the parent and n names below it, like zfs_list. Names that do not exist are left out. */
int zfs_read(struct arena *arena, const char *parent, const char *const *names, size_t n,
	     struct listing *ret, struct error *err);
/* Read a dataset, its snapshots, and the datasets directly below it, like zfs_list. */
int zfs_read_family(struct arena *arena, const char *parent, const char *name, struct listing *ret,
		    struct error *err);
/* *ret is the number of holds on a snapshot; the guid of a dataset or a snapshot. */
int zfs_userrefs(const char *name, uint64_t *ret, struct error *err);
int zfs_guid(const char *name, uint64_t *ret, struct error *err);
/* *ret is true if the filesystem is mounted on the host where zfs runs. */
int zfs_mounted(const char *name, bool *ret, struct error *err);
/*
 * *ret is true if the dataset is recorded as the volume with this id, whatever its name is now;
 * false also if there is no such dataset.
 */
int zfs_is_volume(const char *name, const char *id, bool *ret, struct error *err);
/* *ret is the value of zcsi:members of a dataset itself, "" if it has none; the caller frees it. */
int zfs_members(const char *name, char **ret, struct error *err);
struct zfs_pool {
	uint64_t guid;
	char health[16]; /* the health that zpool prints: "ONLINE" */
};
/* *ret is the state of the parent's pool. ERR_UNAVAILABLE if it is missing or suspended. */
int zfs_read_pool(const char *parent, struct zfs_pool *ret, struct error *err);
/*
 * *ret is how many bytes of destroyed datasets ZFS has yet to make available. It frees them in the
 * background, so the available space is still without them. 0 with zfs-fuse, which does not.
 */
int zfs_freeing(const char *parent, int64_t *ret, struct error *err);
/*
 * For a program that has failed with *err. Returns 0 if the dataset does not exist and the pool of
 * the parent does: zfs reports a missing pool by the same error. Else -1 with *err.
 */
int zfs_is_missing(const char *parent, struct error *err);
/* *ret is the size of a zvol in bytes. */
int zfs_volsize(const char *name, int64_t *ret, struct error *err);
/* *ret is the refreservation of a dataset in bytes. */
int zfs_refreservation(const char *name, int64_t *ret, struct error *err);

#endif
