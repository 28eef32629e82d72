/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Devices of zvols. The kernel creates them asynchronously, and udev creates their names in
 * /dev/zvol after that. device_open watches, with inotify, the directory in which the next part of
 * the name will appear. (The kernel's uevent is no use: it is sent before the name exists, and not
 * sent to other network namespaces.)
 *
 * Invariant: the device itself is asked for the name of its zvol (DEVICE_ZVOL). A name in /dev/zvol
 * may for a moment refer to a removed device, whose number another zvol has got since.
 */
#include "node/attach/device.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/mem.h"
#include "node/mount/mount.h"
#include "node/mount/kind.h"
#include "node/zfs/zfs.h"

#define WATCHED   (IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
#define MARGIN_MS 1000 /* time left before the caller's deadline, for the error to arrive */
#define SECTOR    512  /* bytes per unit of a size in sysfs, whatever sectors the device has */

static bool is_device_of(int fd, const char *dataset)
{
	char name[DATASET_NAME_MAX + 1] = "";
	struct stat st;

	return !fstat(fd, &st) && S_ISBLK(st.st_mode) && !ioctl(fd, DEVICE_ZVOL, name) &&
	       !strcmp(name, dataset);
}

/*
 * Returns a descriptor of the dataset's device, or -1 with errno. ENOENT means that the device may
 * still appear.
 */
static int try_open(const char *path, const char *dataset, int flags)
{
	auto_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags);

	if (fd < 0) {
		if (errno == ENXIO || errno == ENODEV || errno == ENOTDIR)
			errno = ENOENT;
		return -1;
	}
	if (is_device_of(fd, dataset))
		return steal_fd(&fd);
	errno = ENOENT;
	return -1;
}

/* Watch the nearest existing directory above the path, since any of them may still be missing. */
static int watch_nearest(int watcher, const char *path)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", path);
	do {
		char *slash = strrchr(folder, '/');
		if (!slash || slash == folder)
			return -1;
		*slash = '\0';
	} while (inotify_add_watch(watcher, folder, WATCHED) < 0);
	return 0;
}

static void wait_for_event(int watcher, int64_t deadline)
{
	struct pollfd event = {.fd = watcher, .events = POLLIN};
	char events[4096];
	int64_t left = deadline - now_ms();

	poll(&event, 1, left > 0 ? (int)left : 0);
	while (read(watcher, events, sizeof(events)) > 0)
		continue;
}

/*
 * Open the device when it appears. Each try follows the setting of a watch, so a name that is
 * created between two tries wakes the wait.
 */
static int open_when_ready(const char *path, const char *dataset, int flags, int64_t deadline)
{
	auto_close int watcher = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	for (;;) {
		if (watcher < 0 || watch_nearest(watcher, path))
			return -1;
		int fd = try_open(path, dataset, flags);
		if (fd >= 0 || errno != ENOENT)
			return fd;
		if (now_ms() >= deadline) {
			errno = ENOENT;
			return -1;
		}
		wait_for_event(watcher, deadline);
	}
}

static int64_t wait_limit(int64_t deadline)
{
	int64_t limit = now_ms() + DEVICE_WAIT_MS;

	return deadline == NO_DEADLINE || deadline - MARGIN_MS > limit ? limit
								       : deadline - MARGIN_MS;
}

static int fail_open(const char *path, struct error *err)
{
	if (errno == EBUSY)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "its device '%s' is in use; find the user with 'fuser -v' or 'lsblk' "
			    "and stop it",
			    path);
	return fail_errno(err, "cannot open its device '%s'", path);
}

int device_open(const char *dataset, int flags, int64_t deadline, struct error *err)
{
	char path[PATH_MAX];

	if (zfs_check_devices(err) < 0)
		return -1;
	snprintf(path, sizeof(path), DEVICE_FOLDER "%s", dataset);
	int fd = try_open(path, dataset, flags);
	if (fd < 0 && errno == ENOENT)
		fd = open_when_ready(path, dataset, flags, wait_limit(deadline));
	if (fd >= 0)
		return fd;
	if (errno == ENOENT)
		return fail(err, ERR_UNAVAILABLE,
			    "its device '%s' does not appear; check that systemd-udevd runs, that "
			    "zcsi-node has the host's /dev, and 'zfs get volmode %s'",
			    path, dataset);
	return fail_open(path, err);
}

static int read_number(const char *path, const char *dataset, dev_t *ret, struct error *err)
{
	auto_close int fd = try_open(path, dataset, O_EXCL);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT || errno == EACCES ? 0 : fail_open(path, err);
	if (fstat(fd, &st))
		return fail_errno(err, "cannot read the number of '%s'", path);
	*ret = st.st_rdev;
	return 0;
}

int device_number(const char *dataset, dev_t *ret, struct error *err)
{
	char path[PATH_MAX];

	*ret = 0;
	snprintf(path, sizeof(path), DEVICE_FOLDER "%s", dataset);
	int failed = read_number(path, dataset, ret, err);
	child_settle();
	return failed;
}

/*
 * Returns true once the device's path does not exist, or false after about a second. Does not open
 * the device, because ZFS does not remove it while it is open.
 */
static bool is_gone_soon(const char *path)
{
	struct stat st;

	for (long ms = 10; ms < 1000; ms *= 2) {
		if (stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR))
			return true;
		nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
	}
	return false;
}

int device_check_gone(const char *dataset, struct error *err)
{
	char path[PATH_MAX];
	dev_t number;

	snprintf(path, sizeof(path), DEVICE_FOLDER "%s", dataset);
	if (is_gone_soon(path))
		return 0;
	if (device_number(dataset, &number, err) < 0)
		return -1;
	if (!number)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "its device '%s' is still there: a process has it open; find that with "
		    "'fuser -v' or 'lsblk' and stop it",
		    path);
}

/* Retry: ZFS removes a device only if it is not open, and udev may open it for a moment. */
int device_hide(const char *dataset, struct error *err)
{
	struct zfs_properties hidden = {.n = 0};

	zfs_property(&hidden, "volmode", "none");
	for (int tries = 3;; tries--) {
		if (zfs_set(dataset, &hidden, err) < 0)
			return -1;
		if (device_check_gone(dataset, err) == 0)
			return 0;
		if (tries == 1)
			return -1;
	}
}

int device_show(const char *dataset, struct error *err)
{
	return zfs_inherit(dataset, "volmode", err);
}

int device_mounted(const struct mount *mount, dev_t *ret, struct error *err)
{
	const struct format *format = mount_format(mount);
	const char *inside = strcmp(mount->root, "/") ? "" : DEVICE_NODE;
	char node[PATH_MAX];
	struct stat st;

	if (!format || format->mounts) {
		*ret = mount->device;
		return 0;
	}
	snprintf(node, sizeof(node), "%s%s", mount->target, inside);
	if (lstat(node, &st))
		return fail_errno(err, "cannot read the number of '%s'", node);
	*ret = st.st_rdev;
	return 0;
}

int device_check(const char *dataset, const struct mount *mount, int64_t deadline,
		 struct error *err)
{
	struct stat st;
	dev_t number;

	auto_close int fd = device_open(dataset, 0, deadline, err);
	if (fd < 0 || device_mounted(mount, &number, err) < 0)
		return -1;
	if (fstat(fd, &st))
		return fail_errno(err, "cannot read the number of the device of '%s'", dataset);
	if (st.st_rdev == number)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "its device changed since it was mounted at '%s', because its pool was "
		    "imported again, or because another zvol had its name; stop the job that uses "
		    "it there first",
		    mount->target);
}

char *device_path(struct arena *arena, const char *dataset)
{
	return arena_printf(arena, DEVICE_FOLDER "%s", dataset);
}

int device_size(dev_t device, int64_t *ret, struct error *err)
{
	char path[64];
	long long sectors;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/size", major(device), minor(device));
	auto_fclose FILE *file = fopen(path, "re");
	if (!file || fscanf(file, "%lld", &sectors) != 1)
		return fail_errno(err, "cannot read '%s'", path);
	*ret = sectors * SECTOR;
	return 0;
}
