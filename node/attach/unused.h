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
 * Check that the dataset is not mounted on this host, except at this path, where it is mounted to
 * be exported.
 */
int unused_check_mounts_beside(struct arena *arena, const char *name, const char *path,
			       struct error *err);
/*
 * Call unused_check_mounts, and check that no other mount namespace of this host has the dataset,
 * and no process the device of a zvol. Searches /proc, for a zvol repeatedly for up to 3 seconds.
 */
int unused_check(struct arena *arena, const struct dataset *dataset, struct error *err);

#endif
