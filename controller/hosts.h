/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_HOSTS_H
#define ZCSI_CONTROLLER_HOSTS_H

/*
 * Lookups on all agents. "Not found" is reported only if every agent has answered. Results are in
 * the call's arena. Functions return 0, or -1 with *err.
 */

#include "common/error.h"
#include "controller/hosts_search.h"
#include "proto/agent.h"
#include "transport/rpc.h"

struct owner {
	const struct agent *agent;
	Dataset *dataset; /* NULL if no agent has the volume */
};

/*
 * Search for a volume on every agent. Fails like hosts_search, also if the volume exists twice: a
 * call that destroys the volume settles nothing (duplicate.h).
 */
int owner_search(struct rpc_call *call, const char *volume_id, struct owner *ret,
		 struct error *err);
/*
 * Like owner_search, but first ask only the agent that had the volume last. If that fails and all
 * agents are asked, and two have the volume, settle which one keeps it (duplicate.h). Not for a
 * call that destroys the volume.
 */
int owner_find(struct rpc_call *call, const char *volume_id, struct owner *ret, struct error *err);
/* Like owner_find, but fails with ERR_NOT_FOUND if no agent has the volume. */
int owner_get(struct rpc_call *call, const char *volume_id, struct owner *ret, struct error *err);

/*
 * Search for a volume with hosts_claim. place: the agent where the caller will create it, or NULL.
 * *ret_claim is the claim that the agents promised.
 */
int owner_claim(struct rpc_call *call, const char *volume_id, const struct agent *place,
		struct owner *ret, uint64_t *ret_claim, struct error *err);

struct host {
	const struct agent *agent;
	GetHostResponse *says; /* the agent's answer; NULL, in hosts_some only, if there is none */
};

struct hosts {
	struct host *list;
	size_t n;
};

/* List all hosts. ERR_UNAVAILABLE names the first agent that did not answer. */
int hosts_all(struct rpc_call *call, struct hosts *ret, struct error *err);
/* Like hosts_all, for the hosts whose agents the filter chooses (agents_ask.h). */
int hosts_chosen(struct rpc_call *call, agent_filter *chooses, const void *arg, struct hosts *ret,
		 struct error *err);
/* List all hosts, including those whose agent does not answer. */
int hosts_some(struct rpc_call *call, struct hosts *ret, struct error *err);
/* Ask one agent for its host, and check its identity. */
int host_of(struct rpc_call *call, const struct agent *agent, struct host *ret, struct error *err);
/*
 * Find the host of a node; give up at `until`, a now_ms() value. ERR_NOT_FOUND if no agent is that
 * node's; ERR_UNAVAILABLE if an agent that did not answer may be, or it is off the list.
 */
int hosts_find_node(struct rpc_call *call, const char *node_id, int64_t until, struct host *ret,
		    struct error *err);

#endif
