/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOUNT_KIND_H
#define ZCSI_NODE_MOUNT_KIND_H

/*
 * The types of mounts that volumes have, and how the source of each names its volume. Pure
 * functions. Any thread.
 */

#include <stdbool.h>

#include "common/volume/format.h"
#include "node/mount/mountinfo.h"

#define DEVICE_FOLDER "/dev/zvol/" /* udev names the device of each zvol below it */
#define DEVICE_NODE   "/device"    /* the device file in the tmpfs that stages a block volume */

/* Returns true if the mount needs a server on the network, which may not answer. */
bool mount_is_network(const struct mount *mount);
/*
 * Returns true if the mount's source names the dataset, and its root is that of a staging or of a
 * target of a volume.
 */
bool mount_is_volume(const struct mount *mount, const char *dataset);
/* Returns true if the mount's source names the dataset, even if only a part of it is mounted. */
bool mount_is_on(const struct mount *mount, const char *dataset);
/* Returns true if the mount is of a ZFS filesystem below the dataset, such as "dataset/child". */
bool mount_is_child(const struct mount *mount, const char *dataset);
/* Returns the format of volumes with this type of mount; NULL if volumes do not have it. */
const struct format *mount_format(const struct mount *mount);
/* Returns the path inside a staging to mount at its targets: DEVICE_NODE for a device, or "". */
const char *mount_target_root(const struct mount *mount);

#endif
