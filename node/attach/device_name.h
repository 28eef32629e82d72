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
 * Returns the name of the dataset that the mount is of, in the arena: for a zvol the one that its
 * device reports, which is open for that moment. If that fails, for example without the key of an
 * encrypted zvol, and for all other mounts, the name in the source of the mount. Blocks up to
 * DEVICE_NAME_MS.
 */
const char *device_name(struct arena *arena, const struct mount *mount);

#define DEVICE_NAME_MS 10000

#endif
