/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_MOUNT_H
#define ZCSI_MOUNT_H

/*
 * The mounts of this host, as /proc/self/mountinfo has them, and the few ways in which we change
 * them. Every change is looked up there afterwards.
 *
 * A staging mount is shared, in a peer group of its own; a target is a slave of its staging's
 * group. So mountinfo itself says, to a daemon that has just been started, which mount is a
 * staging, which a target, and which target came from which staging.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"

struct mount {
	int id;     /* the kernel's, until it is unmounted */
	int parent; /* the id of what it is mounted on */
	const char *target;
	const char *source; /* the dataset */
	const char *type;   /* "zfs", "fuse.zfs" */
	const char *root;   /* what of it is mounted; "/" is all */
	uint64_t attrs;     /* MOUNT_ATTR_RDONLY and the like; 0 is rw,relatime */
	int shared;         /* its peer group; 0: none */
	int master;         /* the peer group it is a slave of; 0: none */
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
/* A mount of the whole of a dataset. */
bool mount_is_of(const struct mount *mount, const char *dataset);
/* One of them that nothing is mounted over; the topmost at a path, which may be covered. */
const struct mount *mount_of(const struct mount_table *table, const char *dataset);
const struct mount *mount_of_at(const struct mount_table *table, const char *dataset,
				const char *path);
/* One that is somewhere else than at the path, and is no staging; or NULL. */
const struct mount *mount_of_beside(const struct mount_table *table, const char *dataset,
				    const char *path);
/* A target that came from this staging, or NULL. */
const struct mount *mount_target_of(const struct mount_table *table, const struct mount *staging);

/* Apply one flag ("noatime") to *attrs; false when there is none of that name. */
bool mount_attr_apply(const char *name, uint64_t *attrs);
/* Apply a volume's flags; ERR_INVALID_ARGUMENT names the known ones. */
int mount_attrs_parse(char *const *names, size_t n, uint64_t *attrs, struct error *err);

enum mount_role { MOUNT_STAGING, MOUNT_TARGET };

/*
 * Mount the same at `path` too, with its role and exactly these attributes, all in one
 * step: there is no instant at which it is there but writable, or there but of no role.
 */
int mount_attach(const struct mount *from, const char *path, enum mount_role role, uint64_t attrs,
		 struct error *err);
/* Make the source's mount at a path a staging with exactly these attributes. */
int mount_make_staging(const char *path, const char *source, uint64_t attrs, struct error *err);
/* Unmount what is on top. ERR_FAILED_PRECONDITION names the processes that use it. */
int mount_remove(const char *path, struct error *err);

/* "bash (pid 12), mariadbd (pid 40)": who has files below the path open; "" when unknown. */
char *mount_holders(struct arena *arena, const char *path);

#endif
