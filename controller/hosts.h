/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_HOSTS_H
#define ZCSI_CONTROLLER_HOSTS_H

/*
 * Lookups over all agents: which host has a volume or a snapshot, and which hosts exist. "Not
 * found" is answered only when every agent has answered.
 */

#include "common/error.h"
#include "controller/agent_methods.h"
#include "proto/agent.h"
#include "transport/rpc.h"

/* A question that at most one agent answers; the others say NOT_FOUND. */
struct search {
	const char *method; /* GetDataset and the like */
	const ProtobufCMessage *request;
	const char *what; /* "volume 'v'", for the errors */
	uint64_t *claim;  /* the request's, for hosts_claim; the response has its */
	size_t promised;  /* at this offset */
};

typedef int search_fn(struct rpc_call *call, const struct search *search, const struct answer **ret,
		      struct error *err);

/*
 * *ret is NULL when no agent has the object. ERR_UNAVAILABLE names an agent that could not say
 * whether it has it; ERR_FAILED_PRECONDITION an agent whose identity changed, or two that both have
 * it.
 */
search_fn hosts_search;
/*
 * A search for an object that is created when none is found: every agent promises to create none
 * for an earlier claim. ERR_ABORTED when another call had a later claim until the deadline.
 */
search_fn hosts_claim;

struct owner {
	const struct agent *agent;
	Dataset *dataset; /* NULL: nobody has the volume */
};

/* Search for a volume on every agent. A volume that exists twice is an error. */
int owner_search(struct rpc_call *call, const char *volume_id, struct owner *ret,
		 struct error *err);
/* The same for what destroys nothing: who had it the last time is asked first, alone. */
int owner_find(struct rpc_call *call, const char *volume_id, struct owner *ret, struct error *err);
/* As owner_search, but ERR_NOT_FOUND when no agent has it. */
int owner_get(struct rpc_call *call, const char *volume_id, struct owner *ret, struct error *err);

/* A search for a volume by hosts_claim. */
int owner_claim(struct rpc_call *call, const char *volume_id, struct owner *ret,
		uint64_t *ret_claim, struct error *err);

struct host {
	const struct agent *agent;
	GetHostResponse *says; /* NULL, of hosts_some alone: nothing */
};

struct hosts {
	struct host *list;
	size_t n;
};

/* ERR_UNAVAILABLE names the first agent that did not answer. */
int hosts_all(struct rpc_call *call, struct hosts *ret, struct error *err);
/* List the hosts; an agent that does not answer is in the list too. */
int hosts_some(struct rpc_call *call, struct hosts *ret, struct error *err);
int host_of(struct rpc_call *call, const struct agent *agent, struct host *ret, struct error *err);
/* The node's. ERR_NOT_FOUND; ERR_UNAVAILABLE when a silent agent might be it. */
int hosts_find_node(struct rpc_call *call, const char *node_id, struct host *ret,
		    struct error *err);

#endif
