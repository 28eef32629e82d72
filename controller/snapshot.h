/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_SNAPSHOT_H
#define ZCSI_CONTROLLER_SNAPSHOT_H

/* A snapshot: where it is, and as CSI sees it. */

#include "controller/hosts.h"
#include "proto/agent.h"
#include "proto/csi.h"

struct snapshot_owner {
	const struct agent *agent;
	DatasetSnapshot *snapshot; /* NULL: nobody has it */
};

/* By id; fails as hosts_search does. */
int snapshot_find(struct rpc_call *call, const char *snapshot_id, struct snapshot_owner *ret,
		  struct error *err);
/* As above, but ERR_NOT_FOUND when no agent has it. */
int snapshot_get(struct rpc_call *call, const char *snapshot_id, struct snapshot_owner *ret,
		 struct error *err);
/*
 * Search by name. When none is found all agents have promised the name to this call. Fails as
 * hosts_claim does.
 */
int snapshot_claim(struct rpc_call *call, const char *name, struct snapshot_owner *ret,
		   uint64_t *ret_claim, struct error *err);
/* Destroy one that the agent has. */
int snapshot_destroy(struct rpc_call *call, const struct agent *agent, const char *snapshot_id,
		     struct error *err);
/* Returns true if the snapshot is of this dataset, and not of an earlier one with the same id. */
bool snapshot_taken_of(const DatasetSnapshot *snapshot, const Dataset *dataset);

Snapshot *snapshot_of(struct arena *arena, const DatasetSnapshot *snapshot);
Google__Protobuf__Timestamp *snapshot_time(struct arena *arena, int64_t seconds);

#endif
