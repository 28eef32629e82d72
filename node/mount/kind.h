/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOUNT_KIND_H
#define ZCSI_NODE_MOUNT_KIND_H

/* What a volume is mounted as, of each type of filesystem that one is mounted by. Pure. */

#include <stdbool.h>

#include "common/volume/format.h"
#include "node/mount/mountinfo.h"

#define DEVICE_FOLDER "/dev/zvol/" /* where udev makes the names of zvols */
#define DEVICE_NODE   "/device" /* in the tmpfs that a device is staged as (node/attach/block.h) */

/* Of a server that may be silent. */
bool mount_is_network(const struct mount *mount);
/* It is of the dataset, by the name in its source; mounted as a volume is, or any part of it. */
bool mount_bears(const struct mount *mount, const char *dataset);
bool mount_is_on(const struct mount *mount, const char *dataset);
/* What the volume is; NULL when no volume is mounted so. */
const struct format *mount_format(const struct mount *mount);
/* The path within a staging of what its targets are: "", or the device. */
const char *mount_part(const struct mount *mount);

#endif
