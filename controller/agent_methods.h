/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_AGENT_METHODS_H
#define ZCSI_CONTROLLER_AGENT_METHODS_H

/* Typed wrappers of agent_ask, one for each method of the agent service (proto/agent.proto). */

#include "controller/agents_ask.h"

/*
 * Define agent_get_host(call, agent, request, ret, err) and the like. Each returns 0 with *ret in
 * the call's arena, or -1 with *err.
 */
#define AGENT_METHOD_(Name, name)                                                                  \
	static inline int agent_##name(struct rpc_call *call, const struct agent *agent,           \
				       const Name##Request *request, Name##Response **ret,         \
				       struct error *err)                                          \
	{                                                                                          \
		void *response;                                                                    \
		if (agent_ask(call, agent, #Name, &request->base, &response, err) < 0)             \
			return -1;                                                                 \
		*ret = response;                                                                   \
		return 0;                                                                          \
	}

AGENT_METHOD_(GetHost, get_host)
AGENT_METHOD_(CreateDataset, create_dataset)
AGENT_METHOD_(ResizeDataset, resize_dataset)
AGENT_METHOD_(DestroyDataset, destroy_dataset)
AGENT_METHOD_(SettleDataset, settle_dataset)
AGENT_METHOD_(ModifyDataset, modify_dataset)
AGENT_METHOD_(AddBackup, add_backup)
AGENT_METHOD_(PublishDataset, publish_dataset)
AGENT_METHOD_(UnpublishDataset, unpublish_dataset)
AGENT_METHOD_(SnapshotDataset, snapshot_dataset)
AGENT_METHOD_(SnapshotGroup, snapshot_group)
AGENT_METHOD_(DestroyDatasetSnapshot, destroy_dataset_snapshot)

#endif
