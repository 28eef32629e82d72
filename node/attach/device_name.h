/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_DEVICE_NAME_H
#define ZCSI_NODE_ATTACH_DEVICE_NAME_H

/*
 * The present names of zvols that are mounted. The source of their mounts is the name that they had
 * when they were mounted; `zfs rename` does not change it. Any thread.
 */

#include "common/mem.h"
#include "node/mount/mountinfo.h"

/*
 * Returns the name of the dataset that the mount is of, in the arena: asks the device of a zvol,
 * which is open for that moment. If this fails, as without the key of an encrypted zvol, the name
 * is that in the source, also for other mounts. Blocks up to DEVICE_NAME_MS.
 */
const char *device_name(struct arena *arena, const struct mount *mount);

#define DEVICE_NAME_MS 10000

#endif
