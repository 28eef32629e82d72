/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Changing mounts, by open_tree, mount_setattr and move_mount (Linux 5.12).
 *
 * Invariant: a mount gets its attributes and its role before it is attached, so a daemon killed
 * at any instruction leaves a finished mount or none. Nothing is removed by force or lazily, no
 * symbolic link is followed to it, and what was done is seen in mountinfo before it is reported.
 */
#include "node/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#define ALL_ATTRS                                                                                  \
	(MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC |            \
	 MOUNT_ATTR_NODIRATIME | MOUNT_ATTR__ATIME)

/* What a volume may ask for, and what mountinfo says; each holds for one mount of the dataset. */
static const struct {
	const char *name;
	uint64_t clear, set;
} flags[] = {
	{"ro", 0, MOUNT_ATTR_RDONLY},
	{"rw", MOUNT_ATTR_RDONLY, 0},
	{"noatime", MOUNT_ATTR__ATIME, MOUNT_ATTR_NOATIME},
	{"relatime", MOUNT_ATTR__ATIME, MOUNT_ATTR_RELATIME},
	{"strictatime", MOUNT_ATTR__ATIME, MOUNT_ATTR_STRICTATIME},
	{"nodiratime", 0, MOUNT_ATTR_NODIRATIME},
	{"diratime", MOUNT_ATTR_NODIRATIME, 0},
	{"nodev", 0, MOUNT_ATTR_NODEV},
	{"dev", MOUNT_ATTR_NODEV, 0},
	{"nosuid", 0, MOUNT_ATTR_NOSUID},
	{"suid", MOUNT_ATTR_NOSUID, 0},
	{"noexec", 0, MOUNT_ATTR_NOEXEC},
	{"exec", MOUNT_ATTR_NOEXEC, 0},
	{"defaults", 0, 0},
};

bool mount_attr_apply(const char *name, uint64_t *attrs)
{
	for (size_t i = 0; i < COUNT(flags); i++) {
		if (strcmp(flags[i].name, name))
			continue;
		*attrs = (*attrs & ~flags[i].clear) | flags[i].set;
		return true;
	}
	return false;
}

static int unknown_flag(const char *name, struct error *err)
{
	char known[256] = "";

	for (size_t i = 0; i < COUNT(flags); i++) {
		size_t used = strlen(known);
		snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "", flags[i].name);
	}
	return fail(err, ERR_INVALID_ARGUMENT, "mount flag '%.128s' is not known; use some of %s",
		    name, known);
}

int mount_attrs_parse(char *const *names, size_t n, uint64_t *attrs, struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (!mount_attr_apply(names[i], attrs))
			return unknown_flag(names[i], err);
	return 0;
}

static int count_at(const char *path, size_t *ret, struct error *err)
{
	struct mount_table table;
	struct arena arena;

	arena_init(&arena, SIZE_MAX);
	int failed = mount_table_read(&arena, &table, err);
	*ret = 0;
	for (size_t i = 0; !failed && i < table.n; i++)
		*ret += !strcmp(table.rows[i].target, path);
	arena_fini(&arena);
	return failed;
}

static int not_seen(const char *path, const char *what, struct error *err)
{
	return fail(err, ERR_INTERNAL,
		    "'%s' was to be %s, the kernel agreed, but /proc/self/mountinfo does not show "
		    "it; look there for what changed it",
		    path, what);
}

static int verify(const char *path, const char *source, enum mount_role role, uint64_t attrs,
		  struct error *err)
{
	struct mount_table table;
	struct arena arena;

	arena_init(&arena, SIZE_MAX);
	int failed = mount_table_read(&arena, &table, err);
	const struct mount *top = failed ? NULL : mount_at(&table, path);
	bool as_asked = top && !strcmp(top->source, source) && top->attrs == attrs &&
			(role == MOUNT_STAGING ? top->shared : top->master);
	arena_fini(&arena);
	if (failed)
		return -1;
	return as_asked ? 0 : not_seen(path, "mounted as asked", err);
}

static int set_attrs(int mount, uint64_t attrs, uint64_t propagation)
{
	struct mount_attr attr = {
		.attr_set = attrs, .attr_clr = ALL_ATTRS, .propagation = propagation};

	return mount_setattr(mount, "", AT_EMPTY_PATH, &attr, sizeof(attr));
}

int mount_attach(const struct mount *from, const char *path, enum mount_role role, uint64_t attrs,
		 struct error *err)
{
	auto_close int clone =
		open_tree(AT_FDCWD, from->target, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (clone < 0)
		return fail_errno(err, "cannot take the mount '%s' (this needs Linux 5.12)",
				  from->target);
	/* The clone is a peer of its original; a staging leaves to found a group of its own. */
	if (set_attrs(clone, attrs, role == MOUNT_STAGING ? MS_PRIVATE : MS_SLAVE) ||
	    (role == MOUNT_STAGING && set_attrs(clone, attrs, MS_SHARED)))
		return fail_errno(err, "cannot set the mount flags for '%s'", path);
	if (move_mount(clone, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH))
		return fail_errno(err, "cannot mount '%s' at '%s'", from->source, path);
	if (verify(path, from->source, role, attrs, err)) {
		umount2(path, UMOUNT_NOFOLLOW);
		return -1;
	}
	return 0;
}

int mount_make_staging(const char *path, const char *source, uint64_t attrs, struct error *err)
{
	auto_close int mount = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (mount < 0)
		return fail_errno(err, "cannot open the mount '%s'", path);
	if (set_attrs(mount, attrs, MS_SHARED))
		return fail_errno(err, "cannot set the mount flags of '%s'", path);
	return verify(path, source, MOUNT_STAGING, attrs, err);
}

static int busy(const char *path, struct error *err)
{
	struct arena arena;

	arena_init(&arena, SIZE_MAX);
	char *holders = mount_holders(&arena, path);
	fail(err, ERR_FAILED_PRECONDITION, "'%s' is in use by %s; stop it, then try again", path,
	     *holders ? holders : "a mount below it or a process that cannot be seen from here");
	arena_fini(&arena);
	return -1;
}

int mount_remove(const char *path, struct error *err)
{
	size_t before, after;

	if (count_at(path, &before, err))
		return -1;
	if (umount2(path, UMOUNT_NOFOLLOW)) {
		if (errno == EBUSY)
			return busy(path, err);
		return fail_errno(err, "cannot unmount '%s'", path);
	}
	if (count_at(path, &after, err))
		return -1;
	return after < before ? 0 : not_seen(path, "unmounted", err);
}
