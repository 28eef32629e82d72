/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Asking a device for the name of its zvol, as a bounded call: opening a device that no process has
 * open reads from the pool, which may be suspended.
 *
 * Invariant: when device_name returns, neither this process nor a child that it was starting has
 * the device open, unless the pool did not answer. ZFS unloads no key of a zvol that is open.
 */
#include "node/attach/device_name.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/bounded_call.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/log.h"
#include "node/attach/device.h"
#include "node/mount/kind.h"

struct question {
	dev_t device;
	char name[DATASET_NAME_MAX + 1]; /* name of the zvol; "": the device did not report it */
};

/* The kernel names the device "zd16" in /dev; sysfs has that name under the device's number. */
static int open_number(dev_t device)
{
	char link[64], target[PATH_MAX] = "", path[PATH_MAX];
	struct stat st;

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(device), minor(device));
	if (readlink(link, target, sizeof(target) - 1) < 0)
		return -1;
	snprintf(path, sizeof(path), "/dev/%s", basename(target));
	auto_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && !fstat(fd, &st) && st.st_rdev == device ? steal_fd(&fd) : -1;
}

static void ask(void *work)
{
	struct question *question = work;
	auto_close int fd = open_number(question->device);

	if (fd < 0 || ioctl(fd, DEVICE_ZVOL, question->name))
		*question->name = '\0';
}

static char *name_of(struct arena *arena, dev_t device)
{
	struct question *question = mem_alloc(sizeof(*question));
	char key[64];

	*question = (struct question){.device = device};
	snprintf(key, sizeof(key), "zvol %u:%u", major(device), minor(device));
	if (bounded_call_run(&(struct bounded_call){"zvol name", key, ask, free, question},
			     now_ms() + DEVICE_NAME_MS))
		return NULL;
	char *name = *question->name ? arena_strdup(arena, question->name) : NULL;
	free(question);
	child_settle();
	return name;
}

const char *device_name(struct arena *arena, const struct mount *mount)
{
	const size_t before = strlen(DEVICE_FOLDER);
	struct error err = {0};
	dev_t number;

	if (strncmp(mount->source, DEVICE_FOLDER, before) != 0)
		return mount->source;
	const char *name = device_mounted(mount, &number, &err) < 0 ? NULL : name_of(arena, number);
	if (!name)
		log_debug("cannot read the name of a mounted zvol from its device",
			  log_str("path", mount->target), log_str("error", err.text));
	return name ? name : mount->source + before;
}
