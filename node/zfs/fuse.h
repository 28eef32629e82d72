/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_FUSE_H
#define ZCSI_NODE_ZFS_FUSE_H

/*
 * Limits of zfs-fuse, the ZFS of a host whose kernel has none. With the kernel's ZFS each of these
 * functions allows everything. Any thread.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"

/*
 * Wait for the lock that a command which mounts must hold: zfs-fuse mixes up the answers to two
 * simultaneous mounts, and then no filesystem of the host answers any more. *ret is a descriptor
 * whose close releases the lock, or -1 with the kernel's ZFS. Returns 0, or -1 with *err.
 */
int fuse_lock(int *ret, struct error *err);
/* Returns how many of n properties one `zfs set` can set: all, or one with zfs-fuse. */
size_t fuse_set_step(size_t n);
/*
 * *ret is the names of all clones of a dataset, and of their clones, in the arena: zfs-fuse
 * unmounts them, even in use, when it renames the dataset, and mounts them elsewhere or not at all.
 * *ret_n is 0 with the kernel's ZFS, which leaves them mounted. Runs one program. Returns 0, or -1
 * with *err.
 */
int fuse_clones(struct arena *arena, const char *name, const char *const **ret, size_t *ret_n,
		struct error *err);

/*
 * Reserve a little of the pool for the parent, which fuse_change needs, unless that much is
 * reserved already. reserved: the parent's refreservation. The parent must stay valid. Runs at most
 * one program. Returns 0, or -1 with *err.
 */
int fuse_reserve(const char *parent, int64_t reserved, struct error *err);
/*
 * Run a zfs that changes a name or a property, like zfs_run. If the pool is full, zfs-fuse refuses
 * that, while OpenZFS has space for it. Then what fuse_reserve has reserved is released for the
 * change, so that volumes can be detached and deleted. Returns 0, or -1 with *err.
 */
int fuse_change(const char *const *argv, struct error *err);

#endif
