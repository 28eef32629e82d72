/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_AGENTS_H
#define ZCSI_CONTROLLER_AGENTS_H

/*
 * The agents: a connection to each, and how they are asked, one or all at once. Asking is for
 * handlers on workers: it blocks, until an answer or a moment before the caller's deadline.
 * Answers live in the call's arena.
 */

#include <stdbool.h>
#include <stddef.h>
#include <protobuf-c/protobuf-c.h>

#include "common/error.h"
#include "common/options.h"
#include "proto/agent.h"
#include "transport/loop.h"
#include "transport/rpc.h"

struct agents;
struct agent;

/*
 * Nothing is connected before it is needed. *err names an endpoint of no form, or given twice.
 * allow_plaintext: agents beyond loopback too.
 */
int agents_new(struct agents **ret, struct loop *loop, const struct option_list *endpoints,
	       bool allow_plaintext, struct error *err);
/* On the loop's thread, with no call under way. */
void agents_free(struct agents *agents);
const char *agent_endpoint(const struct agent *agent);

int agent_ask(struct rpc_call *call, const struct agent *agent, const char *method,
	      const ProtobufCMessage *request, void *ret_response, struct error *err);

struct answer {
	const struct agent *agent;
	void *response;     /* the method's output type */
	struct error error; /* code ERR_OK, or why there is no response */
};

struct answers {
	struct answer *list; /* one for every agent, in the order they were given */
	size_t n;
};

/* The same question to all, at once; they have half the time that is left to the call. */
struct answers agents_ask_all(struct rpc_call *call, const char *method,
			      const ProtobufCMessage *request);

/* agent_get_dataset(call, agent, request, &response, err), and the like */
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
AGENT_METHOD_(ModifyDataset, modify_dataset)
AGENT_METHOD_(PublishDataset, publish_dataset)
AGENT_METHOD_(UnpublishDataset, unpublish_dataset)
AGENT_METHOD_(SnapshotDataset, snapshot_dataset)
AGENT_METHOD_(SnapshotGroup, snapshot_group)
AGENT_METHOD_(DestroyDatasetSnapshot, destroy_dataset_snapshot)

#endif
