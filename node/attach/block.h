/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_BLOCK_H
#define ZCSI_NODE_ATTACH_BLOCK_H

/*
 * A zvol as a device. It is staged as a tmpfs that holds nothing but the device's node; a target is
 * that node, bound on a file. So mountinfo says of a device what it says of any volume: whose it
 * is, which mount is a staging, and which target came from it.
 */

#include <stdint.h>

#include "common/error.h"
#include "node/attach/staging.h"

int block_stage(const struct staging *staging, struct error *err);
/* Check that the staged device is still the volume's. Another import of its pool changes it. */
int block_check(const struct staging *staging, struct error *err);
/*
 * Let the device be written, or not, before it is published with these attributes. One device is
 * read-only for all or for none: ERR_FAILED_PRECONDITION names a target that differs.
 */
int block_set_access(const struct mount_table *table, const struct mount *staging, uint64_t attrs,
		     struct error *err);
/* The size in bytes of the device that is mounted there, staging or target. */
int block_size(const struct mount *mount, int64_t *ret, struct error *err);

#endif
