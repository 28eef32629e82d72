/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CSI_RENAMED_H
#define ZCSI_NODE_CSI_RENAMED_H

/* Mounts of volumes that were renamed by hand while they were mounted. Any worker thread. */

#include "node/host/node.h"
#include "node/mount/mountinfo.h"

/*
 * Find the volume `id` by its mount, which is at a path that the orchestrator gave for it. *ret is
 * the name that its dataset has now, in the arena. Runs one zfs if that is not the name of the
 * volume. Returns 0, or -1 with *err, which is ERR_FAILED_PRECONDITION with the command to run if
 * the mount is not of this volume.
 */
int renamed_find(struct rpc_call *call, const char *id, const struct mount *mount, const char **ret,
		 struct error *err);
/*
 * For a mount of a zvol: replace *ret, the name that renamed_find found, by the name that the zvol
 * has now, if it is still the volume `id`. Runs one zfs if it was renamed. Returns 0, or -1 with
 * *err.
 */
int renamed_zvol(struct rpc_call *call, const char *id, const struct mount *mount, const char **ret,
		 struct error *err);
/* Unload the key of a renamed volume, if zcsi manages the key. dataset: its present name. */
int renamed_unload_key(struct rpc_call *call, const char *dataset, struct error *err);

#endif
