/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_BLANK_H
#define ZCSI_NODE_ATTACH_BLANK_H

/* Checking that a volume has no file, by mounting it. */

#include "common/error.h"
#include "common/mem.h"
#include "node/record/dataset.h"

/*
 * Check that a ZFS filesystem is not in use (unused.h) and that its root directory is empty. It is
 * mounted read-only below RUN_FOLDER meanwhile. Returns 0, or -1 with *err, which is
 * ERR_FAILED_PRECONDITION if it is in use, has a file, or is on another host. Any worker thread, in
 * a call that is keyed by the volume.
 */
int blank_check(struct arena *arena, const struct dataset *dataset, struct error *err);

#endif
