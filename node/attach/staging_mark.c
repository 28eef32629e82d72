/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Marks of staging paths: symbolic links to them in /run/zcsi. They survive zcsi-node, as the
 * mounts do, and end with these at a reboot.
 *
 * Invariant: a mark is set before the staging becomes visible, and removed after it was unmounted
 * or before a target is mounted at the path. So a daemon that is killed at any point leaves no
 * staging without a mark, and no target with one. A mark without a mount has no effect.
 */
#include "node/attach/staging_mark.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/volume/escape.h"
#include "node/zfs/run_folder.h"

struct link {
	char path[sizeof(RUN_FOLDER "/.staging") + ESCAPE_LEAF_MAX];
};

/* A long path is shortened by a digest of it, so different paths have different links. */
static struct link link_of(const char *path)
{
	char leaf[ESCAPE_LEAF_MAX + 1];
	struct link link;

	escape_leaf(path, leaf);
	snprintf(link.path, sizeof(link.path), RUN_FOLDER "/%s.staging", leaf);
	return link;
}

int staging_mark_set(const char *path, struct error *err)
{
	const struct link link = link_of(path);

	if (run_folder_make(err) < 0)
		return -1;
	if (symlink(path, link.path) && errno != EEXIST)
		return fail_errno(err, "cannot create '%s', which marks a staging path", link.path);
	return 0;
}

bool staging_mark_is_set(const char *path)
{
	const struct link link = link_of(path);
	struct stat ignored;

	return !lstat(link.path, &ignored);
}

int staging_mark_remove(const char *path, struct error *err)
{
	const struct link link = link_of(path);

	if (!staging_mark_is_set(path) || !unlink(link.path) || errno == ENOENT)
		return 0;
	return fail_errno(err, "cannot remove '%s', which marks a staging path", link.path);
}
