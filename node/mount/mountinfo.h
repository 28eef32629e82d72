/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOUNT_MOUNTINFO_H
#define ZCSI_NODE_MOUNT_MOUNTINFO_H

/*
 * The mounts of this host, from /proc/self/mountinfo. Any thread.
 *
 * A staging is shared, in a peer group of its own, and no slave. A target is a slave of its
 * staging's group; where its parent mount is shared, it is shared too. So a daemon that was just
 * started reads from mountinfo which mount is a staging, which is a target, and which staging a
 * target belongs to.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/mem.h"

struct mount {
	int id;             /* the kernel's id of the mount; reused after the unmount */
	int parent;         /* the id of the mount that it is on */
	dev_t device;       /* the device of the file system; the same for all its mounts */
	const char *target; /* the path it is mounted at */
	const char *source; /* "pool/parent/leaf", "/dev/zvol/...", or "server:/path" */
	const char *type;   /* "zfs", "fuse.zfs", "nfs4", ... (kind.c has the table) */
	const char *root;   /* the path in the file system that is mounted; "/" is all of it */
	uint64_t attrs;     /* MOUNT_ATTR_ bits; 0 is rw,relatime */
	int shared;         /* the peer group to which it passes mounts on; 0: none */
	int master;         /* the peer group from which it gets mounts; 0: none */
};

struct mount_table {
	struct mount *rows; /* in the kernel's order, which is not the order of stacking */
	size_t n;
};

/* Read the mounts of this process; *ret is in the arena. Returns 0, or -1 with *err. */
int mount_table_read(struct arena *arena, struct mount_table *ret, struct error *err);
/* Like mount_table_read, but read from an open file of mountinfo, and close it. */
int mount_table_read_from(struct arena *arena, int fd, struct mount_table *ret, struct error *err);
/* Parse a text of mountinfo in place; the rows point into it. For tests. */
void mount_table_parse(struct arena *arena, char *text, struct mount_table *ret);

/* Returns the mount on top at a path, or NULL. */
const struct mount *mount_at(const struct mount_table *table, const char *path);
/*
 * Returns true if the mount has the role of a staging. Also true for a target on a shared parent
 * mount whose staging was removed.
 */
bool mount_is_staging(const struct mount *mount);
/*
 * Returns true if the mount is of the whole volume, by its source. An NFS export that zcsi did not
 * make names no volume and counts as any volume's: ask only about mounts at a path that the
 * orchestrator gave for this volume.
 */
bool mount_is_of(const struct mount *mount, const char *dataset);

/* Returns a mount whose source names the whole dataset, uncovered, anywhere; or NULL. */
const struct mount *mount_of(const struct mount_table *table, const char *dataset);
/* Returns a mount with exactly this source, whole and uncovered, anywhere; or NULL. */
const struct mount *mount_of_source(const struct mount_table *table, const char *source);
/*
 * Returns the topmost mount at the path for which mount_is_of() is true, even if another mount
 * covers it; or NULL.
 */
const struct mount *mount_of_at(const struct mount_table *table, const char *dataset,
				const char *path);
/* Returns a mount of the dataset at another path than this, except stagings; or NULL. */
const struct mount *mount_of_elsewhere(const struct mount_table *table, const char *dataset,
				       const char *path);
/* Returns a target of this staging, or NULL. */
const struct mount *mount_target_of(const struct mount_table *table, const struct mount *staging);

#endif
