/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOUNT_USERS_H
#define ZCSI_NODE_MOUNT_USERS_H

/*
 * Finding the processes that use a volume. Each function searches the host's /proc, which takes
 * milliseconds, and sees all processes only as root. Results are for error texts, in the arena. Any
 * thread.
 */

#include <sys/types.h>

#include "common/mem.h"

/*
 * Returns the processes with files below the path open: "bash (pid 12), mariadbd (pid 40)"; "" if
 * none was found.
 */
char *mount_users(struct arena *arena, const char *path);
/* Returns the processes that have the block device with this number open, as mount_users does. */
char *mount_device_users(struct arena *arena, dev_t device);
/*
 * Returns where the dataset, or the device with this number (0: none), is mounted in a mount
 * namespace other than this process's: "'/path' in the mount namespace of bash (pid 12)"; NULL if
 * nowhere.
 */
char *mount_in_other_namespace(struct arena *arena, const char *dataset, dev_t device);

#endif
