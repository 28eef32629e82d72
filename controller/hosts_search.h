/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_HOSTS_SEARCH_H
#define ZCSI_CONTROLLER_HOSTS_SEARCH_H

/*
 * The search for one object on all agents. "Not found" is reported only if every agent has
 * answered, and no host off the list had it. Results are in the call's arena.
 */

#include <stdbool.h>

#include "common/error.h"
#include "common/volume/name.h"
#include "controller/agent_methods.h"
#include "transport/rpc.h"

/* A request for an object that at most one agent has; the others answer NOT_FOUND. */
struct search {
	const char *method; /* the RPC of the agents, such as GetDataset */
	const ProtobufCMessage *request;
	const char *what; /* "volume 'v'", for the error texts */
	enum name_kind kind;
	const char *name; /* the name or id by which the object is looked up */
	bool settles;     /* a volume that two agents have may be settled (duplicate.h) */
	uint64_t *claim;  /* the claim in the request; set by hosts_claim */
	size_t promised;  /* offsetof the promised claim in the response */

	/* For hosts_claim: the agent where the object will be created; NULL if unknown. */
	const struct agent *place;
	uint64_t *target; /* in the request: the hash of the node that will create the object */
	size_t promise;   /* offsetof the promise in the response */
};

typedef int search_fn(struct rpc_call *call, const struct search *search, const struct answer **ret,
		      struct error *err);

/*
 * *ret is the answer of the agent that has the object; NULL if no agent has it. ERR_UNAVAILABLE
 * names an agent that did not report whether it has it; ERR_FAILED_PRECONDITION names an agent that
 * is refused (rollcall.h), or two agents that both have the object.
 */
search_fn hosts_search;
/*
 * Like hosts_search, for an object that is to be created: if no agent has it, every agent has
 * promised to create none for a claim earlier than *search->claim. If search->place is given, an
 * agent that cannot have the object (claim_excludes) need not answer. ERR_ABORTED if other calls
 * made later claims until the deadline.
 */
search_fn hosts_claim;

#endif
