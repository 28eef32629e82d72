/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Staging and publishing of block devices.
 *
 * Invariant: a device is read-only while its targets are. A read-only mount does not prevent writes
 * to a device node in it, so the device itself is set read-only or writable before each
 * publication. This also replaces a setting that a killed zcsi-node left.
 */
#include "node/attach/block.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "node/attach/device.h"
#include "node/mount/kind.h"

#define NODE (&DEVICE_NODE[1]) /* the name of the device node in its tmpfs, without a slash */

int block_stage(const struct staging *staging, struct error *err)
{
	struct stat st;

	auto_close int device =
		device_open(staging->dataset->name, 0, staging->call->deadline, err);
	if (device < 0)
		return -1;
	auto_close int mount = mount_create("tmpfs", staging->source, "mode=0700", err);
	if (mount < 0)
		return -1;
	if (fstat(device, &st) || mknodat(mount, NODE, S_IFBLK | 0600, st.st_rdev))
		return fail_errno(err, "cannot create a device node for '%s'", staging->source);
	return mount_place(mount, staging->source, staging->path, MOUNT_STAGING, staging->attrs,
			   err);
}

/*
 * Returns a target of any staging of the volume with this source that is read-only if attrs are
 * not, or writable if they are; NULL if there is none.
 */
static const struct mount *find_other(const struct mount_table *table, const char *source,
				      uint64_t attrs)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct mount *row = &table->rows[i];
		if (!strcmp(row->source, source) && !strcmp(row->root, DEVICE_NODE) &&
		    ((row->attrs ^ attrs) & MOUNT_ATTR_RDONLY))
			return row;
	}
	return NULL;
}

int block_set_access(const struct mount_table *table, const struct mount *staging, uint64_t attrs,
		     struct error *err)
{
	const struct mount *other = find_other(table, staging->source, attrs);
	int readonly = attrs & MOUNT_ATTR_RDONLY ? 1 : 0;
	char node[PATH_MAX];

	if (other)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "it is mounted at '%s' with readonly %s, and a device is read-only for "
			    "all workloads or for none; stop the job that uses it first",
			    other->target, readonly ? "false" : "true");
	snprintf(node, sizeof(node), "%s" DEVICE_NODE, staging->target);
	auto_close int device = open(node, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (device < 0)
		return fail_errno(err, "cannot open the device '%s'", node);
	if (ioctl(device, BLKROSET, &readonly))
		return fail_errno(err, "cannot make the device '%s' %s", node,
				  readonly ? "read-only" : "writable");
	return 0;
}

int block_size(const struct mount *mount, int64_t *ret, struct error *err)
{
	bool staged = !strcmp(mount->root, "/");
	char node[PATH_MAX];
	struct stat st;

	snprintf(node, sizeof(node), "%s%s", mount->target, staged ? DEVICE_NODE : "");
	if (lstat(node, &st))
		return fail_errno(err, "cannot read the size of the device '%s'", node);
	return device_size(st.st_rdev, ret, err);
}
