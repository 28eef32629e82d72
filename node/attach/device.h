/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_DEVICE_H
#define ZCSI_NODE_ATTACH_DEVICE_H

/* The block device of a zvol. */

#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/mem.h"

/*
 * Open a device for reading, with these flags in addition, when udev has made its name. Returns a
 * descriptor. Waits until the deadline or for DEVICE_WAIT_MS. ERR_FAILED_PRECONDITION when devices
 * do not exist here, or with O_EXCL when it is in use; ERR_UNAVAILABLE when it did not appear.
 */
int device_open(const char *dataset, int flags, int64_t deadline, struct error *err);

/*
 * Returns the path that udev makes and mountinfo shows: /dev/zvol/pool/parent/leaf. In the arena.
 */
char *device_path(struct arena *arena, const char *dataset);
/* The size in bytes of a device by its number, from what does not wait for the device itself. */
int device_size(dev_t device, int64_t *ret, struct error *err);

#define DEVICE_WAIT_MS 60000

#endif
