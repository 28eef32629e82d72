/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_ZVOL_H
#define ZCSI_NODE_ATTACH_ZVOL_H

/* Staging zvols with ext4 or XFS. Functions return 0, or -1 with *err. Any thread. */

#include "node/attach/staging.h"

/*
 * Stage a volume that is mounted nowhere on this host, and grow its filesystem to the size of the
 * device. At the first staging, recorded in zcsi:formatted, create the filesystem if the device is
 * blank, or give an existing one of the right format a new UUID. ERR_FAILED_PRECONDITION if the
 * device has other contents, or if a recorded filesystem is gone; nothing was changed then.
 */
int zvol_stage(const struct staging *staging, struct error *err);
/* Grow the filesystem that is mounted at the path to the end of its device. */
int zvol_grow(const struct format *format, const char *path, struct error *err);

#endif
