/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_MOUNT_TURN_H
#define ZCSI_MOUNT_TURN_H

/*
 * zfs-fuse mounts one file system at a time. When it is asked for two at one moment, what one of
 * its threads writes of each to the other is mixed up, and no file system of the host answers any
 * more. So the zcsi-nodes of a host take turns with what makes it mount.
 */

#include "common/error.h"

/* Waits for the turn, which is over when the descriptor is closed. The kernel's needs none: -1. */
int mount_turn_take(int *ret, struct error *err);

#endif
