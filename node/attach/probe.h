/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_PROBE_H
#define ZCSI_NODE_ATTACH_PROBE_H

/* Detecting what a block device contains, with libblkid, which reads the device itself. */

#include "common/error.h"

struct probe {
	char type[32]; /* the content: "ext4", "dos" (a partition table), "unknown"; "": blank */
	char uuid[40]; /* the UUID of the filesystem; "": none */
};

/*
 * Probe a device; device: a descriptor open for reading. Blocks. Returns 0 with *ret, or -1 with
 * ERR_FAILED_PRECONDITION if the device cannot be read or has the signatures of several formats.
 * Such a device is never reported as blank.
 */
int probe_read(int device, struct probe *ret, struct error *err);

#endif
