/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOUNT_MOUNTINFO_H
#define ZCSI_NODE_MOUNT_MOUNTINFO_H

/*
 * The mounts of this host, as /proc/self/mountinfo has them.
 *
 * A staging mount is shared, in a peer group of its own; a target is a slave of its staging's
 * group. So mountinfo itself says, to a daemon that has just been started, which mount is a
 * staging, which a target, and which target came from which staging.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/mem.h"

struct mount {
	int id;       /* the kernel's, until it is unmounted */
	int parent;   /* the id of what it is mounted on */
	dev_t device; /* of the file system: all its mounts have it */
	const char *target;
	const char *source; /* the dataset, "/dev/zvol/" before it, or "server:/path" */
	const char
		*type; /* "zfs", "fuse.zfs", "nfs4", "ext4", "xfs", "tmpfs" (node/mount/kind.h) */
	const char *root; /* what of it is mounted; "/" is all */
	uint64_t attrs;   /* MOUNT_ATTR_RDONLY and the like; 0 is rw,relatime */
	int shared;       /* its peer group; 0: none */
	int master;       /* the peer group it is a slave of; 0: none */
};

struct mount_table {
	struct mount *rows; /* in the order of the kernel's list; mount_at knows which is on top */
	size_t n;
};

int mount_table_read(struct arena *arena, struct mount_table *ret, struct error *err);
/* The same from a text, which is cut up and kept. */
void mount_table_parse(struct arena *arena, char *text, struct mount_table *ret);

/* What is on top at a path, or NULL. */
const struct mount *mount_at(const struct mount_table *table, const char *path);
bool mount_is_staging(const struct mount *mount);
/*
 * A mount of the whole of a dataset, or of the device of a zvol, ours or another host's, by the
 * name it has here (without a pool, its last component). What strangers export bears no name of a
 * volume: where one is looked for it is taken for it, so this is asked about the mounts at paths
 * that an orchestrator gives.
 */
bool mount_is_of(const struct mount *mount, const char *dataset);
/*
 * One that bears its name and that nothing is mounted over; the topmost of it at a path, which may
 * be covered.
 */
const struct mount *mount_of(const struct mount_table *table, const char *dataset);
/* One of exactly this source, wherever it is. */
const struct mount *mount_of_source(const struct mount_table *table, const char *source);
const struct mount *mount_of_at(const struct mount_table *table, const char *dataset,
				const char *path);
/* One that bears it somewhere else than at the path, and is no staging; or NULL. */
const struct mount *mount_of_beside(const struct mount_table *table, const char *dataset,
				    const char *path);
/* A target that came from this staging, or NULL. */
const struct mount *mount_target_of(const struct mount_table *table, const struct mount *staging);

#endif
