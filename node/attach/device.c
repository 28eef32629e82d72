/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Zvols as devices. The kernel makes them when it likes, and udev their names in /dev/zvol after
 * that: who needs one watches the folder where the next part of its name is to appear. (The
 * kernel's own word, an uevent, comes before there is a name, and not at all to another network
 * namespace.)
 *
 * Invariant: the device itself says whose it is. A name may for a moment be that of a device that
 * has gone, whose number another volume has got since.
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
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "node/record/dataset.h"
#include "node/mount/mount.h"
#include "node/mount/kind.h"
#include "node/zfs/zfs.h"

/* OpenZFS, sys/fs/zfs.h: the name of the zvol that a device is. */
#define BLKZNAME _IOR(0x12, 125, char[DATASET_NAME_MAX + 1])

#define COMES    (IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
#define HURRY_MS 1000 /* what is left of the caller's deadline to say that it did not come */
#define SECTOR   512  /* of what sysfs says, whatever the device has */

static bool is_device_of(int fd, const char *dataset)
{
	char name[DATASET_NAME_MAX + 1] = "";
	struct stat st;

	return !fstat(fd, &st) && S_ISBLK(st.st_mode) && !ioctl(fd, BLKZNAME, name) &&
	       !strcmp(name, dataset);
}

/* A descriptor; -1 with errno, of which ENOENT may pass. */
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

/* Folders may be missing as the name is: the nearest one that is there is watched. */
static int watch_nearest(int watcher, const char *path)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", path);
	do {
		char *slash = strrchr(folder, '/');
		if (!slash || slash == folder)
			return -1;
		*slash = '\0';
	} while (inotify_add_watch(watcher, folder, COMES) < 0);
	return 0;
}

static void wait_for_news(int watcher, int64_t deadline)
{
	struct pollfd news = {.fd = watcher, .events = POLLIN};
	char events[4096];
	int64_t left = deadline - now_ms();

	poll(&news, 1, left > 0 ? (int)left : 0);
	while (read(watcher, events, sizeof(events)) > 0)
		continue;
}

/* A look follows each watch that is set, so what comes in between is seen. */
static int await(const char *path, const char *dataset, int flags, int64_t deadline)
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
		wait_for_news(watcher, deadline);
	}
}

static int64_t bounded(int64_t deadline)
{
	int64_t limit = now_ms() + DEVICE_WAIT_MS;

	return deadline == NO_DEADLINE || deadline - HURRY_MS > limit ? limit : deadline - HURRY_MS;
}

int device_open(const char *dataset, int flags, int64_t deadline, struct error *err)
{
	char path[PATH_MAX];

	if (zfs_check_devices(err) < 0)
		return -1;
	snprintf(path, sizeof(path), DEVICE_FOLDER "%s", dataset);
	int fd = try_open(path, dataset, flags);
	if (fd < 0 && errno == ENOENT)
		fd = await(path, dataset, flags, bounded(deadline));
	if (fd >= 0)
		return fd;
	if (errno == ENOENT)
		return fail(err, ERR_UNAVAILABLE,
			    "its device '%s' does not appear; look whether systemd-udevd runs, "
			    "whether /dev is the host's, and at 'zfs get volmode %s'",
			    path, dataset);
	if (errno == EBUSY)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "its device '%s' is in use; 'fuser -v' and 'lsblk' say by what", path);
	return fail_errno(err, "cannot open its device '%s'", path);
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
