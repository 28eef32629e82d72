/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Changing mounts with open_tree, mount_setattr and move_mount (Linux 5.12).
 *
 * Invariant: a mount gets its attributes and its role before it is attached, so a daemon that is
 * killed at any point leaves a complete mount or none. An unmount is forced or lazy only if the
 * server does not answer. No symbolic link is followed. A change counts as done when mountinfo
 * shows it.
 */
#include "node/mount/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "common/child.h"
#include "common/clock.h"
#include "node/mount/call.h"
#include "node/mount/drain.h"
#include "node/mount/kind.h"
#include "node/mount/users.h"

#define PROBE_MS 3000 /* timeout after which a server counts as unreachable */

#define ALL_ATTRS                                                                                  \
	(MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC |            \
	 MOUNT_ATTR_NODIRATIME | MOUNT_ATTR__ATIME)

/* Count the mounts at a path, covered ones too. */
static int count_at(const char *path, size_t *ret, struct error *err)
{
	struct mount_table table;
	auto_arena struct arena arena = {.cap = SIZE_MAX};

	int result = mount_table_read(&arena, &table, err);
	*ret = 0;
	for (size_t i = 0; result == 0 && i < table.n; i++)
		*ret += !strcmp(table.rows[i].target, path);
	return result;
}

/* Fail because mountinfo does not show a change; what: "mounted as asked" or "unmounted". */
static int fail_not_seen(const char *path, const char *what, struct error *err)
{
	return fail(err, ERR_INTERNAL,
		    "'%s' was %s without an error, but /proc/self/mountinfo does not show it; "
		    "another program may have changed it",
		    path, what);
}

static int verify(const char *path, const char *source, enum mount_role role, uint64_t attrs,
		  struct error *err)
{
	struct mount_table table;
	auto_arena struct arena arena = {.cap = SIZE_MAX};

	int failed = mount_table_read(&arena, &table, err);
	const struct mount *top = failed ? NULL : mount_at(&table, path);
	bool as_asked = top && !strcmp(top->source, source) && top->attrs == attrs &&
			(role == MOUNT_STAGING ? top->shared : top->master);
	if (failed)
		return -1;
	return as_asked ? 0 : fail_not_seen(path, "mounted as asked", err);
}

static int fail_open(const char *path, struct error *err)
{
	if (errno == ETIMEDOUT)
		return fail(err, ERR_UNAVAILABLE,
			    "the mount '%s' did not answer within %d s; check its server or its "
			    "pool",
			    path, MOUNT_CALL_MS / 1000);
	return fail_errno(err, "cannot open the mount '%s' (needs Linux 5.12)", path);
}

static int set_attrs(int mount, uint64_t attrs, uint64_t propagation)
{
	struct mount_attr attr = {
		.attr_set = attrs, .attr_clr = ALL_ATTRS, .propagation = propagation};

	return mount_setattr(mount, "", AT_EMPTY_PATH, &attr, sizeof(attr));
}

/*
 * A copy of a mount is in the peer group of the original. For a staging, make it private first,
 * which leaves that group, and then shared, which creates a new group.
 */
int mount_place(int mount, const char *source, const char *path, enum mount_role role,
		uint64_t attrs, struct error *err)
{
	if (set_attrs(mount, attrs, role == MOUNT_STAGING ? MS_PRIVATE : MS_SLAVE) ||
	    (role == MOUNT_STAGING && set_attrs(mount, attrs, MS_SHARED)))
		return fail_errno(err, "cannot set the mount flags for '%s'", path);
	if (move_mount(mount, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH))
		return fail_errno(err, "cannot mount '%s' at '%s'", source, path);
	if (verify(path, source, role, attrs, err) < 0) {
		mount_call_unmount(path, UMOUNT_NOFOLLOW);
		return -1;
	}
	return 0;
}

int mount_bind(const struct mount *from, const char *path, enum mount_role role, uint64_t attrs,
	       struct error *err)
{
	char tree[PATH_MAX];

	snprintf(tree, sizeof(tree), "%s%s", from->target,
		 role == MOUNT_TARGET ? mount_target_root(from) : "");
	auto_close int copy = mount_call_open(tree, OPEN_TREE_CLONE);
	if (copy < 0)
		return fail_open(tree, err);
	return mount_place(copy, from->source, path, role, attrs, err);
}

static int set_option(int fs, const char *option)
{
	char key[64];
	const char *value = strchr(option, '=');

	if (!value)
		return fsconfig(fs, FSCONFIG_SET_FLAG, option, NULL, 0);
	snprintf(key, sizeof(key), "%.*s", (int)(value - option), option);
	return fsconfig(fs, FSCONFIG_SET_STRING, key, value + 1, 0);
}

int mount_create(const char *type, const char *source, const char *option, struct error *err)
{
	auto_close int fs = fsopen(type, FSOPEN_CLOEXEC);

	if (fs < 0)
		return fail_errno(err, "cannot mount %s with this kernel", type);
	if (fsconfig(fs, FSCONFIG_SET_STRING, "source", source, 0) ||
	    (option && set_option(fs, option)) || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return fail_errno(err, "cannot mount '%s' as %s", source, type);
	int mount = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (mount < 0)
		return fail_errno(err, "cannot mount '%s' as %s", source, type);
	return mount;
}

static int fail_busy(const char *path, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};

	char *users = mount_users(&arena, path);
	fail(err, ERR_FAILED_PRECONDITION, "'%s' is in use by %s; stop it, then try again", path,
	     *users ? users : "a mount below it or a process that is not visible in /proc");
	return -1;
}

/* Returns true if the top mount at the path is a network mount whose server does not answer. */
static bool is_unreachable(const char *path)
{
	struct mount_table table;
	struct statvfs ignored;
	struct error err;
	auto_arena struct arena arena = {.cap = SIZE_MAX};

	const struct mount *top =
		mount_table_read(&arena, &table, &err) < 0 ? NULL : mount_at(&table, path);
	return top && mount_is_network(top) &&
	       mount_call_statvfs(top, now_ms() + PROBE_MS, &ignored) == ETIMEDOUT;
}

/*
 * Returns 0 or an errno. A child process that was just forked has copies of all descriptors, which
 * may keep this mount busy, until it runs its program, so wait for that first. If the server does
 * not answer, the mount is detached even if it is busy, because its users would wait for ever.
 */
static int unmount(const char *path)
{
	child_settle();
	if (fuse_drain(path) == 0 && mount_call_unmount(path, UMOUNT_NOFOLLOW) == 0)
		return 0;
	int error = errno;
	if (error != EBUSY || !is_unreachable(path))
		return error;
	return mount_call_unmount(path, UMOUNT_NOFOLLOW | MNT_FORCE | MNT_DETACH) < 0 ? errno : 0;
}

/*
 * If umount2 timed out, count the mounts again: the kernel may have removed this one and still wait
 * for its server.
 */
int mount_remove(const char *path, struct error *err)
{
	size_t before, after;

	if (count_at(path, &before, err) < 0)
		return -1;
	int error = errno = unmount(path);
	if (error == EBUSY)
		return fail_busy(path, err);
	if (error && error != ETIMEDOUT)
		return fail_errno(err, "cannot unmount '%s'", path);
	if (count_at(path, &after, err) < 0)
		return -1;
	if (after < before)
		return 0;
	errno = error;
	return error ? fail_open(path, err) : fail_not_seen(path, "unmounted", err);
}

/*
 * Replace the mount by a copy. Attributes that are set on an attached mount do not reach its copies
 * in other namespaces, such as the namespace of the host if zcsi-node runs in a container.
 */
int mount_make_staging(const char *path, const char *source, uint64_t attrs, struct error *err)
{
	auto_close int copy = mount_call_open(path, OPEN_TREE_CLONE);

	if (copy < 0)
		return fail_open(path, err);
	if (mount_remove(path, err) < 0)
		return -1;
	return mount_place(copy, source, path, MOUNT_STAGING, attrs, err);
}

/* Returns the child of the dataset that is mounted deepest below the path; NULL if none is. */
static const struct mount *find_child(const struct mount_table *table, const char *path,
				      const char *dataset)
{
	const size_t length = strlen(path);
	const struct mount *deepest = NULL;

	for (size_t i = 0; i < table->n; i++) {
		const struct mount *row = &table->rows[i];
		if (mount_is_child(row, dataset) && !strncmp(row->target, path, length) &&
		    row->target[length] == '/' &&
		    (!deepest || strlen(row->target) > strlen(deepest->target)))
			deepest = row;
	}
	return deepest;
}

int mount_remove_tree(const char *path, const char *dataset, struct error *err)
{
	for (;;) {
		struct mount_table table;
		auto_arena struct arena arena = {.cap = SIZE_MAX};

		if (mount_table_read(&arena, &table, err) < 0)
			return -1;
		const struct mount *child = find_child(&table, path, dataset);
		if (!child)
			return mount_remove(path, err);
		if (mount_remove(child->target, err) < 0)
			return -1;
	}
}
