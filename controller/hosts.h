/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_HOSTS_H
#define ZCSI_CONTROLLER_HOSTS_H

/*
 * Which host has a volume or a snapshot, and which hosts there are: what all agents say together,
 * and what their silence means. "Nobody has it" is said only when every agent has answered.
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
 * *ret is NULL when nobody has it. ERR_UNAVAILABLE names an agent that did not say whether it has
 * it, or could not, without its pool; ERR_FAILED_PRECONDITION one that is not what it was, or two
 * that both have it.
 */
search_fn hosts_search;
/*
 * A search for what is made when nobody has it: everybody has promised to make none for a claim
 * that is earlier than this one. ERR_ABORTED: till the deadline, another call was always later.
 */
search_fn hosts_claim;

struct owner {
	const struct agent *agent;
	Dataset *dataset; /* NULL: nobody has the volume */
};

/* A search for a volume: everybody is asked, so one that exists twice is an error. */
int owner_search(struct rpc_call *call, const char *volume_id, struct owner *ret,
		 struct error *err);
/* The same for what destroys nothing: who had it the last time is asked first, alone. */
int owner_find(struct rpc_call *call, const char *volume_id, struct owner *ret, struct error *err);
/* The same; ERR_NOT_FOUND when nobody has it. */
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
