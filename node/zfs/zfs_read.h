/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_ZFS_READ_H
#define ZCSI_NODE_ZFS_ZFS_READ_H

/* What zfs(8) and zpool(8) tell. Each runs one program and fails as those of node/zfs/zfs.h do. */

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"
#include "node/record/listing.h"

/* The parent's own properties: "property\tvalue" a line. *ret is the caller's to free. */
int zfs_parent(const char *parent, char **ret, struct error *err);
/* Who may do what with it. *ret is the caller's to free. */
int zfs_allow(const char *parent, char **ret, struct error *err);
/* Where the parent itself is what was not found. Always -1. */
int zfs_no_parent(const char *parent, struct error *err);
/* All below the parent. A reading's rows are in the arena; its text is the caller's to free. */
int zfs_list(struct arena *arena, const char *parent, struct listing *ret, struct error *err);
/* The parent and these of what is below it, as ZFS has them now; those not there are left out. */
int zfs_read(struct arena *arena, const char *parent, const char *const *names, size_t n,
	     struct listing *ret, struct error *err);
/* One dataset and all that is right below it, snapshots too. */
int zfs_read_family(struct arena *arena, const char *parent, const char *name, struct listing *ret,
		    struct error *err);
/* How many hold a snapshot. */
int zfs_userrefs(const char *name, uint64_t *ret, struct error *err);
/* As the host sees it that zfs runs on. */
int zfs_mounted(const char *name, bool *ret, struct error *err);
int zfs_pool_guid(const char *parent, uint64_t *ret, struct error *err);
/* The size of a zvol, as ZFS has it now. */
int zfs_volsize(const char *name, int64_t *ret, struct error *err);

#endif
