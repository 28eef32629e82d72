/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_COMPLETE_H
#define ZCSI_NODE_ATTACH_COMPLETE_H

#include "common/error.h"
#include "common/mem.h"
#include "node/record/dataset.h"

/*
 * Have the dataset of a volume contain all that was synced to the volume: after a power cut, what
 * came last is in ZFS's intent log alone, until the volume is mounted or has a device. Call it
 * before a snapshot that is to be complete, and before a look at what differs from one. Runs no
 * program if the volume is mounted, or is a filesystem of this host. Returns 0, or -1 with *err,
 * which is ERR_FAILED_PRECONDITION if that cannot be done or known before its key is loaded. Blocks
 * up to a minute. Any thread but the loop's.
 */
int complete_volume(struct arena *arena, const struct dataset *volume, struct error *err);

#endif
