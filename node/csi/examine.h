/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_EXAMINE_H
#define ZCSI_EXAMINE_H

/* What a volume's condition is judged by (node/csi/condition.h), found out on this host. */

#include <sys/statvfs.h>

#include "node/csi/condition.h"
#include "node/host/node.h"

/*
 * In bounded time, a moment before the caller's deadline at the latest. mount: the volume's, in the
 * table, or NULL. *ret_fs is filled when there is a mount, nothing covers it and ret->error is 0.
 */
void examine(struct rpc_call *call, const char *id, const struct mount_table *table,
	     const struct mount *mount, struct condition_facts *ret, struct statvfs *ret_fs);

#endif
