/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_PROBE_H
#define ZCSI_NODE_ATTACH_PROBE_H

/* The contents of a block device, as libblkid reads them from the device itself. */

#include "common/error.h"

struct probe {
	char type[32]; /* "ext4", "dos" of a partition table, …; "" is nothing that is known */
	char uuid[40]; /* of a file system that has one, or "" */
};

/*
 * Probe a device that is open for reading. ERR_FAILED_PRECONDITION when it cannot be read, or shows
 * marks of several formats: such a device is never taken for blank.
 */
int probe_read(int device, struct probe *ret, struct error *err);

#endif
