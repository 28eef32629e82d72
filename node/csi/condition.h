/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CSI_CONDITION_H
#define ZCSI_NODE_CSI_CONDITION_H

/* Is a volume as it should be? Judged from what was found; nothing here looks at the host. */

#include <stdbool.h>

#include "node/mount/mount.h"
#include "proto/csi.h"
#include <sys/statvfs.h>
#include "node/host/node.h"

struct condition_facts {
	const struct mount *mount; /* the volume's at the path that was asked about; NULL: none */
	const struct mount *top;   /* what is on top there: the same, or what covers it */
	int error;                 /* errno when asked how full it is; ETIMEDOUT: no answer */
	bool frozen; /* the filesystem itself takes no writes, whatever the mount says */
	const char *pool_problem; /* "" when the pool can be read */
	bool has_dataset;         /* the pool has it; only said when it can be read */
};

struct condition {
	VolumeHealthErrorType status;
	const char *reason; /* for machines; static */
	const char *text;   /* for people; in the arena */
};

/* The worst that is wrong; false when nothing is. */
bool condition_judge(struct arena *arena, const struct condition_facts *facts,
		     struct condition *ret);

/*
 * In bounded time, a moment before the caller's deadline at the latest. mount: the volume's, in the
 * table, or NULL. *ret_fs is filled when there is a mount, nothing covers it and ret->error is 0.
 */
void condition_gather(struct rpc_call *call, const char *id, const struct mount_table *table,
		      const struct mount *mount, struct condition_facts *ret,
		      struct statvfs *ret_fs);

#endif
