/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOUNT_REPLAY_H
#define ZCSI_NODE_MOUNT_REPLAY_H

#include "common/error.h"

/*
 * Have the kernel replay the intent log of a ZFS filesystem, as each mount does. Nothing is mounted
 * anywhere meanwhile, and nothing stays if this process ends. Returns 0, also if it is mounted
 * already; or -1 with *err: ERR_NOT_FOUND, ERR_UNAUTHENTICATED if its key is not loaded, else
 * ERR_UNAVAILABLE. Blocks up to REPLAY_MS. Any thread.
 */
int replay_log(const char *dataset, struct error *err);

#define REPLAY_MS 60000 /* a log has what was written in a few seconds */

#endif
