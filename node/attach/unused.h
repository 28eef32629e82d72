/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_UNUSED_H
#define ZCSI_NODE_ATTACH_UNUSED_H

/*
 * Checking that a volume is not in use. Functions return 0, or -1 with *err, which is
 * ERR_FAILED_PRECONDITION and says by what the volume is used. Any worker thread.
 */

#include "common/error.h"
#include "common/mem.h"
#include "node/record/dataset.h"

/* Check that the dataset is not mounted where the pool is, in the namespace of this process. */
int unused_check_mounts(struct arena *arena, const char *name, struct error *err);
/*
 * Check that also no other mount namespace of this host has the dataset, and that no process has
 * the device of a zvol open. Searches /proc, and for a zvol up to 3 seconds, until it is unused.
 */
int unused_check(struct arena *arena, const struct dataset *dataset, struct error *err);

#endif
