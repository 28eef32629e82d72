/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_DEVICE_H
#define ZCSI_NODE_ATTACH_DEVICE_H

/* Block devices of zvols. Any thread. */

#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/mem.h"
#include "node/mount/mountinfo.h"
#include "node/record/dataset.h"

/*
 * Open the device of a zvol for reading; flags: further flags of open(2). Waits until udev has
 * created its name, at most DEVICE_WAIT_MS and until shortly before the deadline. Returns a
 * descriptor, or -1 with *err: ERR_FAILED_PRECONDITION if zvols have no devices on this host, or
 * with O_EXCL if the device is in use; ERR_UNAVAILABLE if it did not appear in time.
 */
int device_open(const char *dataset, int flags, int64_t deadline, struct error *err);

/*
 * *ret is the number of a zvol's device, or 0 if it has none, or if its key is not loaded, so that
 * nothing can have it open. ERR_FAILED_PRECONDITION if a mount or another device is on it.
 */
int device_number(const char *dataset, dev_t *ret, struct error *err);

/*
 * Take the device of a zvol away by volmode=none, with which it has none after a reboot either.
 * Waits until it is gone. ERR_FAILED_PRECONDITION if a process has it open: it stays then, and so
 * does volmode=none. Not for a zvol that is staged.
 */
int device_hide(const char *dataset, struct error *err);
/*
 * Let a hidden zvol have a device again, which the kernel creates soon (device_open waits for it).
 * Not for a zvol that has a device, because the device may get another number.
 */
int device_show(const char *dataset, struct error *err);
/*
 * Check that a zvol has no device, which with volmode=none proves that no process has it open.
 * Waits about a second. ERR_FAILED_PRECONDITION if it has one.
 */
int device_check_gone(const char *dataset, struct error *err);

/*
 * *ret is the number of the device that a mount of a zvol is of or, for a block volume, of the node
 * that is mounted. Does not open the device.
 */
int device_mounted(const struct mount *mount, dev_t *ret, struct error *err);
/*
 * Check that a mount of a zvol is of the device that the dataset has now: its number changes when
 * the pool is imported again, and a zvol that was renamed keeps its mounts.
 * ERR_FAILED_PRECONDITION if it is not.
 */
int device_check(const char *dataset, const struct mount *mount, int64_t deadline,
		 struct error *err);
/*
 * Returns the path that udev creates and mountinfo shows, /dev/zvol/pool/parent/leaf, in the arena.
 */
char *device_path(struct arena *arena, const char *dataset);
/*
 * *ret is the size in bytes of the device with this number. Reads sysfs, which does not block when
 * the device does. Returns 0, or -1 with *err.
 */
int device_size(dev_t device, int64_t *ret, struct error *err);

#define DEVICE_WAIT_MS 60000

/* The ioctl of OpenZFS (sys/fs/zfs.h, BLKZNAME) that reads the name of a device's zvol. */
#define DEVICE_ZVOL    _IOR(0x12, 125, char[DATASET_NAME_MAX + 1])

#endif
