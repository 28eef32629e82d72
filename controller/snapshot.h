/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_SNAPSHOT_H
#define ZCSI_CONTROLLER_SNAPSHOT_H

/* Finding the snapshots of all agents, and converting them to CSI's message. */

#include "controller/hosts.h"
#include "proto/agent.h"
#include "proto/csi.h"

struct snapshot_owner {
	const struct agent *agent;
	DatasetSnapshot *snapshot; /* NULL if no agent has the snapshot */
};

/* Search all agents for a snapshot by id. Fails like hosts_search. */
int snapshot_find(struct rpc_call *call, const char *snapshot_id, struct snapshot_owner *ret,
		  struct error *err);
/* Like snapshot_find, but fails with ERR_NOT_FOUND if no agent has it. */
int snapshot_get(struct rpc_call *call, const char *snapshot_id, struct snapshot_owner *ret,
		 struct error *err);
/*
 * Search for a snapshot by name with hosts_claim (hosts_search.h). place: the agent where the
 * caller will take the snapshot, or NULL. If no snapshot is found, the agents have promised to take
 * none of this name for a claim earlier than *ret_claim.
 */
int snapshot_claim(struct rpc_call *call, const char *name, const struct agent *place,
		   struct snapshot_owner *ret, uint64_t *ret_claim, struct error *err);
/* Ask the agent that has the snapshot to destroy it. */
int snapshot_destroy(struct rpc_call *call, const struct agent *agent, const char *snapshot_id,
		     struct error *err);
/* Returns true if the snapshot is of this dataset, and not of an earlier one with the same id. */
bool snapshot_taken_of(const DatasetSnapshot *snapshot, const Dataset *dataset);

/* Returns CSI's message for the snapshot, in the arena. */
Snapshot *snapshot_of(struct arena *arena, const DatasetSnapshot *snapshot);
/* Returns a timestamp of seconds since 1970, in the arena. */
Google__Protobuf__Timestamp *snapshot_time(struct arena *arena, int64_t seconds);

#endif
