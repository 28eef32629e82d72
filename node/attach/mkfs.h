/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_MKFS_H
#define ZCSI_NODE_ATTACH_MKFS_H

/*
 * Creating and growing ext4 and XFS on zvols, and giving them a new UUID. format: one of those two.
 * device: the path of the zvol's device. Functions run programs or ioctls, so they block, and
 * return 0, or -1 with *err. Any thread.
 */

#include "common/error.h"
#include "common/volume/format.h"

/* Create a filesystem. The program refuses a device that is in use or not blank. */
int mkfs_make(const struct format *format, const char *device, struct error *err);
/*
 * Give a filesystem a new UUID, since it may be a copy of another one. A detached mount
 * replays its journal first. Some of the programs fail with status 0, so the caller must
 * check the UUID.
 */
int mkfs_renew(const struct format *format, const char *device, struct error *err);
/*
 * Grow a mounted filesystem to the end of its device, unless it extends that far. mount: the
 * descriptor of a writable mount.
 */
int mkfs_grow(const struct format *format, int mount, struct error *err);

#endif
