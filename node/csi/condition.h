/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CSI_CONDITION_H
#define ZCSI_NODE_CSI_CONDITION_H

/*
 * The condition of a volume: condition_gather collects facts from the host, condition_judge derives
 * the condition from them. Any worker thread.
 */

#include <stdbool.h>

#include "node/mount/mount.h"
#include "proto/csi.h"
#include <sys/statvfs.h>
#include "node/host/node.h"

struct condition_facts {
	const struct mount *mount; /* the volume's mount at the requested path; NULL: none */
	const struct mount *top;   /* the topmost mount there: the same, or one that covers it */
	int error;                 /* errno of statvfs; ETIMEDOUT: no answer; 0: success */
	bool frozen;               /* the filesystem is read-only, whatever the mount's flags are */
	const char *pool_problem;  /* "": none, or not known yet */
	bool has_dataset;          /* the volume's dataset exists; valid if pool_problem is "" */
	const char *newer;         /* the node that took the volume over from this one; "": none */
};

struct condition {
	VolumeHealthErrorType status;
	const char *reason; /* a word for programs; static */
	const char *text;   /* a sentence for operators; static or in the arena */
};

/* Returns true and fills *ret with the worst problem; false if there is none. Pure. */
bool condition_judge(struct arena *arena, const struct condition_facts *facts,
		     struct condition *ret);

/*
 * Gather the facts of the volume with this id. Blocks for a few seconds at most, and returns
 * shortly before the call's deadline at the latest. mount: the volume's row in the table, or NULL.
 * *ret_fs is the statvfs of the mount; zeroed if there is no mount, it is covered, or ret->error is
 * set.
 */
void condition_gather(struct rpc_call *call, const char *id, const struct mount_table *table,
		      const struct mount *mount, struct condition_facts *ret,
		      struct statvfs *ret_fs);

#endif
