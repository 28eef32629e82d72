/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_ZFS_READ_H
#define ZCSI_NODE_ZFS_ZFS_READ_H

/*
 * Reading the pool by zfs(8) and zpool(8). Each function runs one program and fails as those of
 * node/zfs/zfs.h do. Names are those of datasets and snapshots.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"
#include "node/record/listing.h"

/* List the parent's own properties: "property\tvalue" a line. *ret is to be freed by the caller. */
int zfs_parent(const char *parent, char **ret, struct error *err);
/* List the delegated permissions of the parent. *ret is to be freed by the caller. */
int zfs_allow(const char *parent, char **ret, struct error *err);
/* Fail because the parent itself does not exist. Always returns -1. */
int zfs_no_parent(const char *parent, struct error *err);
/*
 * Read everything below the parent. The rows live in the arena; ret->text is to be freed by the
 * caller.
 */
int zfs_list(struct arena *arena, const char *parent, struct listing *ret, struct error *err);
/* Read the parent and n names below it. Names that do not exist are left out. */
int zfs_read(struct arena *arena, const char *parent, const char *const *names, size_t n,
	     struct listing *ret, struct error *err);
/* Read one dataset and everything right below it, snapshots too. */
int zfs_read_family(struct arena *arena, const char *parent, const char *name, struct listing *ret,
		    struct error *err);
/* Read the number of holds on a snapshot. */
int zfs_userrefs(const char *name, uint64_t *ret, struct error *err);
/* Read whether a filesystem is mounted on the host where zfs runs. */
int zfs_mounted(const char *name, bool *ret, struct error *err);
int zfs_pool_guid(const char *parent, uint64_t *ret, struct error *err);
/* Read the size of a zvol in bytes. */
int zfs_volsize(const char *name, int64_t *ret, struct error *err);

#endif
