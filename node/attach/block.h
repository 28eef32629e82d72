/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_BLOCK_H
#define ZCSI_NODE_ATTACH_BLOCK_H

/*
 * Block volumes: zvols that workloads use as devices. A block volume's staging is a tmpfs that
 * contains only the device node; a target is a bind mount of that node on a file. So mountinfo
 * shows the same for a device as for a filesystem: volume, staging, and targets of the staging.
 *
 * Functions return 0, or -1 with *err. Any thread.
 */

#include <stdint.h>

#include "common/error.h"
#include "node/attach/staging.h"

/* Stage the zvol staging->dataset at staging->path, waiting for its device (device_open). */
int block_stage(const struct staging *staging, struct error *err);
/*
 * Make the device read-only or writable before it is published with attrs (MOUNT_ATTR_ bits).
 * staging: a row of the table. A device is read-only for all its targets or for none, so
 * ERR_FAILED_PRECONDITION if a target differs; the text has its path.
 */
int block_set_access(const struct mount_table *table, const struct mount *staging, uint64_t attrs,
		     struct error *err);
/* *ret is the size in bytes of the device; mount: its staging or one of its targets. */
int block_size(const struct mount *mount, int64_t *ret, struct error *err);

#endif
