/* SPDX-License-Identifier: MPL-2.0 */
/*
 * open_tree(2), umount2(2) and statvfs(3) as bounded calls. Each of them may block: open_tree asks
 * the server to revalidate the root directory, and umount2 writes dirty pages back after the mount
 * has left mountinfo.
 *
 * Invariant: a descriptor that is returned after the timeout is closed, so a call that timed out
 * holds no mount. A mount whose server does not answer blocks only one thread, however often
 * statvfs is called on it. The key of that call contains the kernel's id of the mount, because
 * another mount may be at the same path later.
 */
#include "node/mount/call.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/bounded_call.h"
#include "common/mem.h"

struct mount_call {
	char *path;
	unsigned flags;
	int result; /* a descriptor, or 0; -1 with error */
	int error;
};

static void open_mount(void *work)
{
	struct mount_call *call = work;

	call->result = open_tree(AT_FDCWD, call->path,
				 call->flags | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
	call->error = errno;
}

static void unmount(void *work)
{
	struct mount_call *call = work;

	call->result = umount2(call->path, (int)call->flags);
	call->error = errno;
}

static void discard(void *work)
{
	struct mount_call *call = work;

	free(call->path);
	free(call);
}

static void discard_open(void *work)
{
	const struct mount_call *call = work;

	if (call->result >= 0)
		close(call->result);
	discard(work);
}

/* Make the call with a timeout of MOUNT_CALL_MS. Returns its result, or -1 with errno. */
static int run_bounded(struct bounded_call bounded, const char *path, unsigned flags)
{
	struct mount_call *call = mem_alloc(sizeof(*call));
	char key[PATH_MAX + 32];

	*call = (struct mount_call){.path = mem_strdup(path), .flags = flags, .result = -1};
	snprintf(key, sizeof(key), "%s %x %s", bounded.thread, flags, path);
	bounded.key = key;
	bounded.work = call;
	int error = bounded_call_run(&bounded, now_ms() + MOUNT_CALL_MS);
	if (error) {
		errno = error;
		return -1;
	}
	int result = call->result;
	error = call->error;
	discard(call);
	errno = error;
	return result;
}

int mount_call_open(const char *path, unsigned flags)
{
	return run_bounded((struct bounded_call){.thread = "open_tree",
						 .run = open_mount,
						 .discard = discard_open},
			   path, flags);
}

int mount_call_unmount(const char *path, int flags)
{
	return run_bounded(
		(struct bounded_call){.thread = "umount", .run = unmount, .discard = discard}, path,
		(unsigned)flags);
}

struct statvfs_call {
	char *path;
	int error;
	struct statvfs result;
};

static void run_statvfs(void *work)
{
	struct statvfs_call *call = work;

	call->error = statvfs(call->path, &call->result) ? errno : 0;
}

static void discard_statvfs(void *work)
{
	struct statvfs_call *call = work;

	free(call->path);
	free(call);
}

int mount_call_statvfs(const struct mount *mount, int64_t deadline, struct statvfs *ret)
{
	char key[PATH_MAX + 32];
	struct statvfs_call *call = mem_alloc(sizeof(*call));

	call->path = mem_strdup(mount->target);
	snprintf(key, sizeof(key), "statvfs %d %s", mount->id, mount->target);
	int error = bounded_call_run(&(struct bounded_call){MOUNT_CALL_STATVFS, key, run_statvfs,
							    discard_statvfs, call},
				     deadline);
	if (error)
		return error;
	error = call->error;
	*ret = call->result;
	discard_statvfs(call);
	return error;
}

bool mount_call_is_dead(const struct mount *mount)
{
	struct statvfs ignored;

	return !strncmp(mount->type, "fuse.", 5) &&
	       mount_call_statvfs(mount, now_ms() + MOUNT_CALL_MS, &ignored) == ENOTCONN;
}
