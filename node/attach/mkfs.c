/* SPDX-License-Identifier: MPL-2.0 */
/*
 * ext4 and XFS on zvols.
 *
 * A clone has the UUID of its original. The kernel refuses to mount a second XFS with the same
 * UUID, and a lookup of ext4 by UUID may find the wrong one. So a clone gets a new UUID, which is
 * better than a mount option (nouuid) at every later mount. The UUID can be changed only if the
 * journal is empty, which it is not in a snapshot of a mounted volume.
 *
 * Invariant: every operation here may be repeated.
 */
#include "node/attach/mkfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/child.h"
#include "common/exec.h"
#include "common/mem.h"
#include "node/attach/device.h"
#include "node/mount/mount.h"

#define WORDS_MAX   8
#define TIMEOUT_MS  (30 * 60 * 1000) /* time enough for e2fsck of some hundred million files */

/* From fs/ext4/ext4.h and fs/xfs/libxfs/xfs_fs.h of Linux, which the kernel's headers omit. */
#define EXT4_RESIZE _IOW('f', 16, __u64)
struct xfs_growth {
	__u64 blocks;
	__u32 inodes_percent;
};
#define XFS_GROW _IOW('X', 110, struct xfs_growth)
struct xfs_geometry {
	__u32 block_size, extent_size, group_blocks, groups, log_blocks, sector_size, inode_size;
	__u32 inodes_percent;
	__u64 blocks, more[3];
	__u8 uuid[16];
	__u32 stripe_unit, stripe_width, version, flags, sizes[3];
};
#define XFS_GEOMETRY _IOR('X', 100, struct xfs_geometry)

struct command {
	const char *words[WORDS_MAX]; /* the command line without the device, its last word */
	int worst;                    /* the highest exit status that is a success */
};

static int run(const struct command *command, const char *device, struct error *err)
{
	const char *argv[WORDS_MAX + 1];
	struct exec_result result = {0};
	size_t n = 0;

	for (; command->words[n]; n++)
		argv[n] = command->words[n];
	argv[n] = device;
	argv[n + 1] = NULL;
	if (exec_run(&(struct exec){.argv = argv, .timeout_ms = TIMEOUT_MS}, &result, err) < 0)
		return -1;
	int status = result.status;
	if (status > command->worst)
		fail(err, ERR_FAILED_PRECONDITION, "%s of '%s' failed with status %d: \"%.300s\"",
		     argv[0], device, status, *result.error ? result.error : result.out);
	exec_result_fini(&result);
	return status > command->worst ? -1 : 0;
}

static int grow_ext4(int root, int64_t bytes)
{
	struct statvfs fs;

	if (fstatvfs(root, &fs))
		return -1;
	__u64 blocks = (__u64)bytes / fs.f_bsize;
	return ioctl(root, EXT4_RESIZE, &blocks);
}

static int grow_xfs(int root, int64_t bytes)
{
	struct xfs_geometry is;

	if (ioctl(root, XFS_GEOMETRY, &is))
		return -1;
	struct xfs_growth growth = {.blocks = (__u64)bytes / is.block_size,
				    .inodes_percent = is.inodes_percent};
	return growth.blocks > is.blocks ? ioctl(root, XFS_GROW, &growth) : 0;
}

static const struct filesystem {
	const char *name;
	struct command make, renew[2];
	const char *replay; /* the mount option needed to mount a copy of a filesystem; or NULL */
	int (*grow)(int root, int64_t bytes);
} filesystems[] = {
	/* With metadata_csum_seed, a new UUID does not change the checksums of all metadata. */
	{"ext4",
	 {{"mkfs.ext4", "-q", "-m", "0", "-O", "metadata_csum_seed"}, 0},
	 {{{"e2fsck", "-f", "-p"}, 1}, {{"tune2fs", "-U", "random"}, 0}},
	 NULL,
	 grow_ext4},
	{"xfs",
	 {{"mkfs.xfs", "-q"}, 0},
	 {{{"xfs_admin", "-U", "generate"}, 0}},
	 "nouuid",
	 grow_xfs},
};

static const struct filesystem *find(const struct format *format)
{
	const struct filesystem *found = filesystems;

	while (strcmp(found->name, format->name) != 0)
		found++;
	return found;
}

int mkfs_make(const struct format *format, const char *device, struct error *err)
{
	return run(&find(format)->make, device, err);
}

static int replay(const struct filesystem *filesystem, const char *device, struct error *err)
{
	int mount = mount_create(filesystem->name, device, filesystem->replay, err);

	if (mount < 0)
		return -1;
	close(mount);
	child_settle();
	return 0;
}

int mkfs_renew(const struct format *format, const char *device, struct error *err)
{
	const struct filesystem *filesystem = find(format);

	if (replay(filesystem, device, err) < 0)
		return -1;
	for (size_t i = 0; i < COUNT(filesystem->renew) && *filesystem->renew[i].words; i++)
		if (run(&filesystem->renew[i], device, err) < 0)
			return -1;
	return 0;
}

int mkfs_grow(const struct format *format, int mount, struct error *err)
{
	struct stat st;
	int64_t bytes;

	auto_close int root = openat(mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || fstat(root, &st))
		return fail_errno(err, "cannot open its root directory to grow it");
	if (device_size(st.st_dev, &bytes, err) < 0)
		return -1;
	if (find(format)->grow(root, bytes))
		return fail_errno(err, "cannot grow %s to %lld bytes", format->name,
				  (long long)bytes);
	return 0;
}
