/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Checking that a volume has no file. No property of ZFS proves it: a small file takes no space of
 * its own, and the space that an empty filesystem takes depends on the pool.
 *
 * Invariant: the volume is unmounted again. The mount's path contains the dataset's guid, so a
 * mount that a killed zcsi-node has left there is of this dataset, and is removed first.
 */
#include "node/attach/blank.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "node/attach/staging.h"
#include "node/attach/unused.h"
#include "node/zfs/run_folder.h"
#include "node/zfs/ssh.h"

/* Returns true for the entries that every root directory has. snapdir=visible shows .zfs. */
static bool is_own(const char *entry)
{
	return !strcmp(entry, ".") || !strcmp(entry, "..") || !strcmp(entry, ".zfs");
}

static int check_empty(const char *path, struct error *err)
{
	const struct dirent *entry;
	DIR *directory = opendir(path);

	if (!directory)
		return fail_errno(err, "cannot read '%s'", path);
	errno = 0;
	while ((entry = readdir(directory)) != NULL && is_own(entry->d_name))
		errno = 0;
	int error = errno;
	int failed = entry ? fail(err, ERR_FAILED_PRECONDITION, "it has files") : 0;
	closedir(directory);
	if (entry || !error)
		return failed;
	errno = error;
	return fail_errno(err, "cannot read '%s'", path);
}

static int check_mounted(struct arena *arena, const struct dataset *dataset, const char *path,
			 struct error *err)
{
	const struct staging staging = {.source = dataset->name,
					.path = path,
					.attrs = MOUNT_ATTR_RDONLY,
					.mount = staging_mount_dataset};
	struct error busy;

	if (staging_mount(arena, &staging, err) < 0)
		return -1;
	int failed = check_empty(path, err);
	if (staging_unmount(arena, dataset->name, path, &busy) == 0)
		return failed;
	if (!failed)
		*err = busy;
	return -1;
}

int blank_check(struct arena *arena, const struct dataset *dataset, struct error *err)
{
	const char *path = arena_printf(arena, RUN_FOLDER "/look-%" PRIu64, dataset->guid);

	if (ssh_server())
		return fail(err, ERR_FAILED_PRECONDITION,
			    "it is on the server '%s', where it cannot be looked through",
			    ssh_server());
	if (run_folder_make(err) < 0 || staging_unmount(arena, dataset->name, path, err) < 0 ||
	    unused_check(arena, dataset, err) < 0)
		return -1;
	int failed = check_mounted(arena, dataset, path, err);
	rmdir(path);
	return failed;
}
