/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_MOUNTED_H
#define ZCSI_MOUNTED_H

/* The mount that a request means with its volume_id and volume_path. */

#include "node/mount/mount.h"
#include "node/host/node.h"

/*
 * The volume's mount at the path, staging or target, with the table it is in. ERR_INVALID_ARGUMENT
 * when one of the two is missing, ERR_NOT_FOUND when the volume is not mounted there.
 */
int mounted_find(struct rpc_call *call, const char *id, const char *path,
		 struct mount_table *ret_table, const struct mount **ret, struct error *err);

#endif
