/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOUNT_REPLAY_H
#define ZCSI_NODE_MOUNT_REPLAY_H

#include "common/error.h"

/*
 * Have the kernel replay the intent log of a ZFS filesystem, as each mount does. No mount becomes
 * visible meanwhile, and none is left if this process ends. Returns 0, also if the filesystem is
 * mounted already; or -1 with *err: ERR_NOT_FOUND, ERR_UNAUTHENTICATED if its key is not loaded,
 * else ERR_UNAVAILABLE. Blocks up to REPLAY_MS. Any thread.
 */
int replay_log(const char *dataset, struct error *err);

#define REPLAY_MS 60000 /* timeout; an intent log has only the writes of a few seconds */

#endif
